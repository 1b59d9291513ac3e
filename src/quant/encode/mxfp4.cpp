// SPDX-License-Identifier: Apache-2.0
// MXFP4: e from the exponent of the largest magnitude, which lands in 4..8 before rounding. Byte-equal to ggml's.
#include "hanzo/quant/format/mxfp4.h"
#include "src/quant/encode/common.hpp"
#include "src/quant/encode/e2m1.hpp"

namespace hz::quant {

void encode_mxfp4(const float* x, std::int64_t n, const EncodeOptions&, std::byte* out) {
  each_block<mxfp4>(x, n, out, [](const float* v, mxfp4::Block& b) {
    const float top = top_magnitude(v, 32);
    if (!std::isfinite(top)) {
      b.e = 255;
      return;
    }
    // floor(log2(top)) - 2, biased; e = 0 also holds what lies below 2^-125.
    b.e = static_cast<std::uint8_t>(top > 0 ? std::max(std::ilogb(top) - 2 + 127, 0) : 0);
    const float d = mxfp4::scales(b, 0).dw;
    for (int i = 0; i < 16; ++i)
      b.qs[i] = static_cast<std::uint8_t>(nearest_e2m1(v[i], d) | nearest_e2m1(v[i + 16], d) << 4);
  });
}
}  // namespace hz::quant
