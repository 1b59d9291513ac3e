// SPDX-License-Identifier: Apache-2.0
// Q1_0: d = mean magnitude, a bit set where x >= 0. Byte-equal to ggml's.
#include "hanzo/quant/format/q1_0.h"
#include "src/quant/encode/common.hpp"

namespace hz::quant {

void encode_q1_0(const float* x, std::int64_t n, const EncodeOptions&, std::byte* out) {
  each_block<q1_0>(x, n, out, [](const float* v, q1_0::Block& b) {
    if (!all_finite(v, 128)) {
      b.d = kPoisonHalf;
      return;
    }
    float sum = 0;
    for (int i = 0; i < 128; ++i) {
      sum += std::fabs(v[i]);
      if (v[i] >= 0) b.qs[i / 8] |= static_cast<std::uint8_t>(1 << (i % 8));
    }
    b.d = half_bits(sum / 128.0f);
  });
}
}  // namespace hz::quant
