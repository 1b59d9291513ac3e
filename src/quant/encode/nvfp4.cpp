// SPDX-License-Identifier: Apache-2.0
// NVFP4: each 16 weights by the UE4M3 nearest to largest magnitude / 6. Byte-equal to ggml's.
#include "hanzo/quant/format/nvfp4.h"
#include "src/quant/encode/common.hpp"
#include "src/quant/encode/e2m1.hpp"

namespace hz::quant {
namespace {

// UE4M3 of x >= 0: halves up; subnormals in steps of 2^-9; from 256 on always 448 (0x7e), as ggml does.
std::uint8_t ue4m3(float x) {
  if (!(x > 0)) return 0;
  if (x >= 256) return 0x7e;
  if (x < 0x1p-6f) return static_cast<std::uint8_t>(truncate(x * 512.0f + 0.5f, 0, 7));
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(x);
  const std::uint32_t code = ((bits + (1u << 19)) >> 20) - (120u << 3);  // exponent and 3 bits, rebiased from 127 to 7
  return static_cast<std::uint8_t>(code >= 120 ? 0x7e : code);
}

}  // namespace

void encode_nvfp4(const float* x, std::int64_t n, const EncodeOptions&, std::byte* out) {
  each_block<nvfp4>(x, n, out, [](const float* v, nvfp4::Block& b) {
    for (int s = 0; s < 4; ++s, v += 16) {
      const float top = top_magnitude(v, 16);
      if (!std::isfinite(top)) {
        b.d[s] = 0x7f;
        continue;
      }
      b.d[s] = ue4m3(top / 6.0f);
      const float d = nvfp4::scales(b, s).dw;
      for (int i = 0; i < 8; ++i)
        b.qs[8 * s + i] = static_cast<std::uint8_t>(nearest_e2m1(v[i], d) | nearest_e2m1(v[i + 8], d) << 4);
    }
  });
}
}  // namespace hz::quant
