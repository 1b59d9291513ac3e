// SPDX-License-Identifier: Apache-2.0
// Panels: a weight's packed form on the CPU, made on first use.
#pragma once
#include "hanzo/quant/qtensor.hpp"
#include "kernels/cpu/format.hpp"

namespace hz::cpu {

// Sixteen rows a panel, one after another; the last one padded with zero rows.
struct Panels final : PackedForm {
  std::shared_ptr<Storage> storage;
  std::size_t panel_bytes = 0;
  const std::byte* at(std::int64_t panel) const { return storage->data + static_cast<std::size_t>(panel) * panel_bytes; }
};

// The panels of `w`, or null when its format has no packed form. Mapped pages are given back to the system.
const Panels* panels_of(const QTensor& w, const FormatKernels& kernels, int threads);

}  // namespace hz::cpu
