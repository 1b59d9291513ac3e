// SPDX-License-Identifier: Apache-2.0
// TQ1_0: d = largest magnitude, digit = round(x / d) + 1. Byte-equal to ggml's.
#include "hanzo/quant/format/tq1_0.h"
#include "src/quant/encode/common.hpp"

namespace hz::quant {
namespace {

// Five digits, the first the most significant (four: the fifth is 0), as the least byte q with q / 256 >= value / 243.
std::uint8_t pack_digits(const float* x, int count, int stride, float inv) {
  int value = 0;
  for (int n = 0; n < 5; ++n) value = 3 * value + (n < count ? round_away(x[n * stride] * inv, -1, 1) + 1 : 0);
  return static_cast<std::uint8_t>((value * 256 + 242) / 243);
}

}  // namespace

void encode_tq1_0(const float* x, std::int64_t n, const EncodeOptions&, std::byte* out) {
  each_block<tq1_0>(x, n, out, [](const float* v, tq1_0::Block& b) {
    const float top = top_magnitude(v, 256);
    if (!std::isfinite(top)) {
      b.d = kPoisonHalf;
      return;
    }
    const float d = top, inv = inverse(d);
    b.d = half_bits(d);
    for (int i = 0; i < 32; ++i) b.qs[i] = pack_digits(v + i, 5, 32, inv);
    for (int i = 0; i < 16; ++i) b.qs[32 + i] = pack_digits(v + 160 + i, 5, 16, inv);
    for (int i = 0; i < 4; ++i) b.qh[i] = pack_digits(v + 240 + i, 4, 4, inv);
  });
}
}  // namespace hz::quant
