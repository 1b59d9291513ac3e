// SPDX-License-Identifier: Apache-2.0
// Panels: a weight's packed form on the CPU, made on first use.
#pragma once
#include <atomic>

#include "hanzo/quant/qtensor.hpp"
#include "kernels/cpu/format.hpp"

namespace hz::cpu {

// Bytes that panels may take beyond those of the rows they hold. Who comes first is served first: bits never depend on it.
class PanelBudget {
 public:
  explicit PanelBudget(std::uint64_t bytes) : left_(bytes) {}
  bool take(std::uint64_t bytes) {
    std::uint64_t left = left_.load();
    while (left >= bytes)
      if (left_.compare_exchange_weak(left, left - bytes)) return true;
    return false;
  }
  void give_back(std::uint64_t bytes) { left_ += bytes; }

 private:
  std::atomic<std::uint64_t> left_;
};

// Sixteen rows a panel, one after another; the last one padded with zero rows.
struct Panels final : PackedForm {
  std::shared_ptr<Storage> storage;
  std::size_t panel_bytes = 0;
  std::shared_ptr<PanelBudget> budget;  // where `extra` bytes came from, or null
  std::uint64_t extra = 0;
  const std::byte* at(std::int64_t panel) const { return storage->data + static_cast<std::size_t>(panel) * panel_bytes; }
  Panels() = default;
  ~Panels() override {
    if (budget) budget->give_back(extra);
  }
};

// The panels of `w`, or null when its format has no packed form, or one that `budget` had no room for when `w` was first
// used (that stays so). Mapped pages are given back to the system.
const Panels* panels_of(const QTensor& w, const FormatKernels& kernels, int threads, const std::shared_ptr<PanelBudget>& budget);

}  // namespace hz::cpu
