// SPDX-License-Identifier: Apache-2.0
#include "src/backend/cpu/isa.hpp"

#if defined(__aarch64__)
#include <sys/auxv.h>
#endif

#include "hanzo/core/error.hpp"
#include "kernels/cpu/isa_list.hpp"

namespace hz::cpu {
namespace {

bool machine_has(std::string_view isa) {
#if defined(__x86_64__)
  __builtin_cpu_init();
  const bool fma = __builtin_cpu_supports("fma") && __builtin_cpu_supports("avx");
  if (isa == "scalar") return fma;
  const bool avx2 = fma && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
  if (isa == "avx2") return avx2;
  if (isa == "avx512")
    return avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512vnni");
  return false;
#elif defined(__aarch64__)
  return isa == "scalar" || (isa == "neon" && (getauxval(AT_HWCAP) & HWCAP_ASIMDDP) != 0);
#else
  return isa == "scalar";
#endif
}

}  // namespace

const CpuKernels& select_isa(std::string_view wanted) {
  const CpuKernels* best = nullptr;
  std::string known;
  for (const CpuKernels* k : isa_list()) {
    known += (known.empty() ? "" : ", ") + std::string(k->name);
    if (wanted.empty() ? machine_has(k->name) : wanted == k->name) best = k;
  }
  if (best == nullptr && wanted.empty())
    throw Error(ErrorKind::unsupported, "this processor lacks fused multiply-add, which the cpu backend needs", "",
                "use --device reference");
  if (best == nullptr)
    throw Error(ErrorKind::usage, "no instruction set named '" + std::string(wanted) + "'", "HANZO_ISA", "sets of this build: " + known);
  if (!machine_has(best->name))
    throw Error(ErrorKind::unsupported, "this processor cannot run the " + std::string(wanted) + " set", "HANZO_ISA",
                "sets that it can run: " + available_isas());
  return *best;
}

std::string available_isas() {
  std::string s;
  for (const CpuKernels* k : isa_list())
    if (machine_has(k->name)) s += (s.empty() ? "" : ", ") + std::string(k->name);
  return s;
}

}  // namespace hz::cpu
