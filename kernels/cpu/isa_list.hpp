// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <span>

#include "kernels/cpu/table.hpp"

namespace hz::cpu {
// The instruction sets of this build, plainest first.
std::span<const CpuKernels* const> isa_list();
}  // namespace hz::cpu
