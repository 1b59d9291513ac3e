// SPDX-License-Identifier: Apache-2.0
// QAct: activations quantized to int8, one scale per token and 32 elements (docs/numerics.md).
#pragma once
#include <cstdint>
#include <memory>

#include "hanzo/core/tensor.hpp"

namespace hz {

// [tokens, cols], cols a multiple of 32. A value: copies share the bytes.
struct QAct {
  Tensor codes;   // I8  [tokens, cols]
  Tensor scales;  // F32 [tokens, cols / 32]
  Tensor sums;    // I32 [tokens, cols / 16]: integer sums of each 16 codes
  std::uint64_t grad_id = 0;  // as Tensor::grad_id; the gradient is that of the float input (straight-through)

  static QAct empty(std::int64_t tokens, std::int64_t cols, Device device = {});
  bool defined() const { return codes.defined(); }
  std::int64_t tokens() const { return codes.size(0); }
  std::int64_t cols() const { return codes.size(1); }
  // [tokens, cols] F32: code * scale.
  Tensor decode() const;
};

// The scale rule of the contract for one group of 32, in portable scalar form; the oracle for every kernel.
// Writes 32 codes and two sums, returns the scale (NaN when an element is not finite, 0 below 2^-64).
float quantize_group(const float* x, std::int8_t* codes, std::int32_t* sums);

}  // namespace hz
