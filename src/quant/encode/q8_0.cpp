// SPDX-License-Identifier: Apache-2.0
// Q8_0: d = largest magnitude / 127, codes to nearest, halves away from zero. Byte-equal to ggml's.
#include "hanzo/quant/format/q8_0.h"
#include "src/quant/encode/common.hpp"

namespace hz::quant {

void encode_q8_0(const float* x, std::int64_t n, const EncodeOptions&, std::byte* out) {
  each_block<q8_0>(x, n, out, [](const float* v, q8_0::Block& b) {
    const float top = top_magnitude(v, 32);
    if (!std::isfinite(top)) {
      b.d = kPoisonHalf;
      return;
    }
    const float d = top / 127.0f, inv = inverse(d);
    b.d = half_bits(d);
    for (int i = 0; i < 32; ++i) b.qs[i] = static_cast<std::int8_t>(round_away(v[i] * inv, -127, 127));
  });
}
}  // namespace hz::quant
