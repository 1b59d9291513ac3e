// SPDX-License-Identifier: Apache-2.0
// Which instruction set runs: the best of the build that the machine has, or the one that was asked for.
#pragma once
#include <string>
#include <string_view>

#include "kernels/cpu/table.hpp"

namespace hz::cpu {

// wanted empty: the best. Throws usage for an unknown name, unsupported for one that the machine lacks.
const CpuKernels& select_isa(std::string_view wanted);
// Names of the sets that this machine can run, best last.
std::string available_isas();

}  // namespace hz::cpu
