// SPDX-License-Identifier: Apache-2.0
// Q4_0: as ggml's reference encoder, byte for byte.
#include "hanzo/quant/format/q4_0.h"
#include "src/quant/encode/legacy.hpp"

namespace hz::quant {

void encode_q4_0(const float* x, std::int64_t n, const float* importance, std::byte* out) {
  refuse_importance(importance, "Q4_0");
  each_block<q4_0>(x, n, out, [](const float* v, q4_0::Block& b) {
    encode_symmetric(v, 8, b);
  });
}
}  // namespace hz::quant
