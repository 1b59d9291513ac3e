// SPDX-License-Identifier: Apache-2.0
// Q2_0: d = largest magnitude, q = round(x / d) + 1. Byte-equal to ggml's.
#include "hanzo/quant/format/q2_0.h"
#include "src/quant/encode/common.hpp"

namespace hz::quant {

void encode_q2_0(const float* x, std::int64_t n, const EncodeOptions&, std::byte* out) {
  each_block<q2_0>(x, n, out, [](const float* v, q2_0::Block& b) {
    const float top = top_magnitude(v, 64);
    if (!std::isfinite(top)) {
      b.d = kPoisonHalf;
      return;
    }
    const float d = top, inv = inverse(d);
    b.d = half_bits(d);
    for (int i = 0; i < 64; ++i) {
      const int q = round_away(v[i] * inv, -1, 2) + 1;
      b.qs[i / 4] |= static_cast<std::uint8_t>(q << (2 * (i % 4)));
    }
  });
}
}  // namespace hz::quant
