// SPDX-License-Identifier: Apache-2.0
// IQ2_XS: 256 weights in 74 bytes: half d, 32 times 16 bits, each 9 bits of a point of eight magnitudes and 7 bits of
// signs, then 8 bytes of two 4-bit scales s, one for each 16 weights. weight = (d / 8 * (2s + 1)) * signed magnitude.
#pragma once
#include "hanzo/quant/format/iq_grid.h"

namespace hz::quant {
inline namespace HZ_UNIT {

struct iq2_xs {
  struct Block {
    uint16_t d;
    uint16_t qs[32];
    uint8_t scales[8];
  };
  static_assert(sizeof(Block) == 74);
  static constexpr int kElems = 256, kStep = 32, kLow = -43, kHigh = 43;
  static constexpr bool kFloating = false, kWeight = true, kSub = true;
  static constexpr Min kMin = Min::none;

  HZ_FN void codes(const Block& b, int j, int8_t* out) {
    const uint16_t* q = b.qs + 4 * j;
    const auto& grid = iq2_xs_grid().at;
    const uint32_t signs = (uint32_t)q[0] >> 9 | (uint32_t)(q[1] >> 9) << 7 | (uint32_t)(q[2] >> 9) << 14 | (uint32_t)(q[3] >> 9) << 21;
    signed_points(grid[q[0] & 511], grid[q[1] & 511], grid[q[2] & 511], grid[q[3] & 511], even_signs(signs), out);
  }
  static constexpr int kPoint = 8;
  static constexpr bool kShifted = false;
  static constexpr float kUnit = 0.125f;
  HZ_FN constexpr const auto& magnitudes() { return iq2_weights(); }
  HZ_FN constexpr const auto& grid() { return iq2_xs_grid(); }
  HZ_FN void points(const Block& b, uint16_t* out) {
    for (int i = 0; i < 32; ++i) out[i] = b.qs[i] & 511;
  }
  HZ_FN void signs(const Block& b, uint32_t* out) {
    uint8_t eight[32];  // each 7 bits and the one that makes their number even
    for (int i = 0; i < 32; ++i) {
      const int seven = b.qs[i] >> 9, two = seven ^ seven >> 4, one = two ^ two >> 2;
      eight[i] = (uint8_t)(seven | ((one ^ one >> 1) & 1) << 7);
    }
    __builtin_memcpy(out, eight, 32);
  }
  HZ_FN uint16_t half_bits(const Block& b) { return b.d; }
  HZ_FN int scale_bits(const Block& b, int j) { return b.scales[j]; }
  HZ_FN GroupScales scales(const Block& b, int j) { return codebook_row_scales<iq2_xs>(b, j); }
  HZ_FN bool finite(const Block& b) { return half_finite(b.d); }
};

}  // namespace HZ_UNIT
}  // namespace hz::quant
