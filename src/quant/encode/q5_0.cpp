// SPDX-License-Identifier: Apache-2.0
// Q5_0: as ggml's reference encoder, byte for byte.
#include "hanzo/quant/format/q5_0.h"
#include "src/quant/encode/legacy.hpp"

namespace hz::quant {

void encode_q5_0(const float* x, std::int64_t n, const float* importance, std::byte* out) {
  refuse_importance(importance, "Q5_0");
  each_block<q5_0>(x, n, out, [](const float* v, q5_0::Block& b) {
    const std::uint32_t fifth = encode_symmetric(v, 16, b);
    std::memcpy(b.qh, &fifth, sizeof fifth);
  });
}
}  // namespace hz::quant
