// SPDX-License-Identifier: Apache-2.0
// TQ2_0: d = largest magnitude, q = round(x / d) + 1. Byte-equal to ggml's.
#include "hanzo/quant/format/tq2_0.h"
#include "src/quant/encode/common.hpp"

namespace hz::quant {

void encode_tq2_0(const float* x, std::int64_t n, const EncodeOptions&, std::byte* out) {
  each_block<tq2_0>(x, n, out, [](const float* v, tq2_0::Block& b) {
    const float top = top_magnitude(v, 256);
    if (!std::isfinite(top)) {
      b.d = kPoisonHalf;
      return;
    }
    const float d = top, inv = inverse(d);
    b.d = half_bits(d);
    for (int i = 0; i < 256; ++i) {
      const int q = round_away(v[i] * inv, -1, 1) + 1, group = i / 32;
      b.qs[32 * (group / 4) + i % 32] |= static_cast<std::uint8_t>(q << (2 * (group % 4)));
    }
  });
}
}  // namespace hz::quant
