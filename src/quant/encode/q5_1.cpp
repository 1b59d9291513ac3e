// SPDX-License-Identifier: Apache-2.0
// Q5_1: as ggml's reference encoder, byte for byte.
#include "hanzo/quant/format/q5_1.h"
#include "src/quant/encode/legacy.hpp"

namespace hz::quant {

void encode_q5_1(const float* x, std::int64_t n, const float* importance, std::byte* out) {
  refuse_importance(importance, "Q5_1");
  each_block<q5_1>(x, n, out, [](const float* v, q5_1::Block& b) {
    const std::uint32_t fifth = encode_with_minimum(v, 31, b);
    std::memcpy(b.qh, &fifth, sizeof fifth);
  });
}
}  // namespace hz::quant
