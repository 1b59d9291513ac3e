// SPDX-License-Identifier: Apache-2.0
// The instruction sets that this machine can run.
#pragma once
#include <string>
#include <vector>

#include "kernels/cpu/isa_list.hpp"
#include "src/backend/cpu/isa.hpp"

namespace hz::test {

inline std::vector<const cpu::CpuKernels*> runnable_isas() {
  std::vector<const cpu::CpuKernels*> list;
  for (const cpu::CpuKernels* k : cpu::isa_list()) {
    try {
      list.push_back(&cpu::select_isa(k->name));
    } catch (const Error&) {
      WARN("instruction set " << k->name << " cannot run on this processor: skipped");
    }
  }
  return list;
}

}  // namespace hz::test
