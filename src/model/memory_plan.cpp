// SPDX-License-Identifier: Apache-2.0
#include "hanzo/model/memory_plan.hpp"

#include <string>

#include "hanzo/backend/kv.hpp"
#include "hanzo/core/error.hpp"
#include "hanzo/quant/visit.hpp"

namespace hz::model {
namespace {

std::string mib(std::uint64_t bytes) { return std::to_string((bytes >> 20) + ((bytes & 0xfffffu) != 0 ? 1 : 0)) + " MiB"; }

}  // namespace

std::uint64_t expansion(WType type, std::uint64_t bytes) {
  return quant::visit(type, [&]<class W>(quant::tag<W>) -> std::uint64_t {
    if constexpr (requires { W::kPoint; }) {
      constexpr std::size_t block = sizeof(typename W::Block), expanded = quant::Expanded<W>::kBlockBytes;
      static_assert(expanded > block);
      return bytes / block * (expanded - block);
    } else {
      return 0;
    }
  });
}

void check_memory(const MemoryPlan& plan, std::uint64_t available) {
  if (plan.total() <= available) return;
  const std::uint64_t fixed = plan.weights + plan.work;
  const std::uint64_t left = available > fixed ? available - fixed : 0;
  const std::uint64_t fits = plan.position > 0 ? left / plan.position / kKvPage * kKvPage : 0;
  const std::string need = "weights need " + mib(plan.weights) + ", temporaries " + mib(plan.work) + ", a context of " +
                           std::to_string(plan.context) + " positions " + mib(plan.for_context()) + "; " + mib(available) +
                           " are available";
  throw Error(ErrorKind::out_of_memory, need, "",
              fits > 0 ? "the largest context that fits is " + std::to_string(fits) + " (-c " + std::to_string(fits) + ")"
                       : "use a smaller model or quantization, close other programs, or read the mapped weights as they are (--pack none)");
}

}  // namespace hz::model
