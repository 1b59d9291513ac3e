// SPDX-License-Identifier: Apache-2.0
// Q8_1: as Q8_0, with s = d * sum of the codes (d before its rounding to half). Byte-equal to ggml's.
#include "hanzo/quant/format/q8_1.h"
#include "src/quant/encode/common.hpp"

namespace hz::quant {

void encode_q8_1(const float* x, std::int64_t n, const EncodeOptions&, std::byte* out) {
  each_block<q8_1>(x, n, out, [](const float* v, q8_1::Block& b) {
    const float top = top_magnitude(v, 32);
    if (!std::isfinite(top)) {
      b.d = b.s = kPoisonHalf;
      return;
    }
    const float d = top / 127.0f, inv = inverse(d);
    int sum = 0;
    for (int i = 0; i < 32; ++i) {
      b.qs[i] = static_cast<std::int8_t>(round_away(v[i] * inv, -127, 127));
      sum += b.qs[i];
    }
    b.d = half_bits(d);
    b.s = half_bits(static_cast<float>(sum) * d);
  });
}
}  // namespace hz::quant
