// SPDX-License-Identifier: Apache-2.0
// The CPU backend: construction.
#include "src/backend/cpu/cpu.hpp"

#include "src/backend/cpu/isa.hpp"

namespace hz::cpu {

CpuBackend::CpuBackend(const BackendOptions& options)
    : kernels_(select_isa(options.isa)),
      threads_(options.threads > 0 ? options.threads : default_threads()),
      pack_(options.pack),
      budget_(std::make_shared<PanelBudget>(options.expand_bytes)) {}

std::string CpuBackend::description() const {
  return "instruction set " + std::string(kernels_.name) + ", " + std::to_string(threads_) + (threads_ == 1 ? " thread" : " threads");
}

}  // namespace hz::cpu

namespace hz {
std::shared_ptr<Backend> make_cpu(const BackendOptions& options) { return std::make_shared<cpu::CpuBackend>(options); }
}  // namespace hz
