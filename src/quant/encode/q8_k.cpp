// SPDX-License-Identifier: Apache-2.0
// Q8_K: the element of largest magnitude becomes -127; codes to nearest even. Byte-equal to ggml's.
#include "hanzo/quant/format/q8_k.h"
#include "src/quant/encode/common.hpp"

namespace hz::quant {

void encode_q8_k(const float* x, std::int64_t n, const EncodeOptions&, std::byte* out) {
  each_block<q8_k>(x, n, out, [](const float* v, q8_k::Block& b) {
    const float top = extreme(v, 256);
    if (!std::isfinite(top)) {
      b.d = 0x7fc00000u;  // NaN
      return;
    }
    const float scale = top != 0 ? -127.0f / top : 0.0f;
    if (scale == 0 || !std::isfinite(scale)) return;  // zeros, or too small for an inverse: d = 0
    for (int i = 0; i < 256; ++i) {
      const int q = round_even(v[i] * scale, -128, 127);
      b.qs[i] = static_cast<std::int8_t>(q);
      b.sums[i / 16] = static_cast<std::int16_t>(b.sums[i / 16] + q);
    }
    b.d = std::bit_cast<std::uint32_t>(1.0f / scale);
  });
}
}  // namespace hz::quant
