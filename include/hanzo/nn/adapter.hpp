// SPDX-License-Identifier: Apache-2.0
// Adapters of a Linear: low-rank additions to a frozen base, any number, chosen per row of a batch.
#pragma once
#include <cstdint>
#include <span>
#include <string>

#include "hanzo/autograd/var.hpp"
#include "hanzo/quant/qtensor.hpp"

namespace hz::nn {

// y = fma(scale, (x A^T) B^T, y) on the finished product with the base (LoRA, Hu et al. 2021). With a magnitude (DoRA, Liu
// et al. 2024): y = (magnitude / n) * that, n the norm of each row of W + scale B A, a constant to the gradient.
struct LoraAdapter {
  int slot = 0;         // which adapter of the model this belongs to; adapters of a layer ascend by it
  Var a;                // F32 [rank, in]
  Var b;                // F32 [out, rank]
  Var magnitude;        // F32 [out]; undefined but for DoRA
  float scale = 1;      // alpha / rank; rsLoRA alpha / sqrt(rank)
  float dropout = 0;    // of x, under a tape only
  std::uint64_t stream = 0;  // of the dropout mask: one per layer and adapter

  std::int64_t rank() const { return a.tensor().rows(); }
};

// An adapter in use: its scale is multiplied by `strength`.
struct AdapterUse {
  int slot = 0;
  float strength = 1;
  friend bool operator==(const AdapterUse&, const AdapterUse&) = default;
};
// What rows [begin, begin + count) of a batch use, ascending by slot. A row that no entry covers skips all adapters.
struct AdapterRows {
  std::int64_t begin = 0, count = 0;
  std::span<const AdapterUse> use;
};

// The norm of each row of W + scale B A, F32 [out], without forming B A: |W_i|^2 + 2 s B_i . (A W_i^T) + s^2 B_i (A A^T) B_i^T,
// in double precision. W: `weight` or `dense`. The one routine for training, attaching and loading.
Tensor row_norms(const QTensor& weight, const Tensor& dense, const Tensor& a, const Tensor& b, float scale);

}  // namespace hz::nn
