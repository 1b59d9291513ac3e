// SPDX-License-Identifier: Apache-2.0
// Data-parallel training over MPI: mpirun -np 2 hz-train sft ...
#pragma once
#include <hanzo/train/trainer.hpp>
#include <memory>

namespace hz::tools {

// The other processes of this launch; null when there was none, or this build has no MPI (then Error(unsupported) under
// mpirun with more than one process). Leaving by an exception ends all processes.
std::unique_ptr<train::Peers> launched_peers();

}  // namespace hz::tools
