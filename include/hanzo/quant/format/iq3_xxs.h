// SPDX-License-Identifier: Apache-2.0
// IQ3_XXS: 256 weights in 98 bytes: half d, 64 bytes, each a point of four magnitudes in the codebook, then 32 bits a
// group of 32: four times 7 bits of signs for 8 weights, 4 bits of scale s. weight = (d * (2s + 1) / 4) * signed magnitude.
#pragma once
#include "hanzo/quant/format/iq_grid.h"

namespace hz::quant {
inline namespace HZ_UNIT {

struct iq3_xxs {
  struct Block {
    uint16_t d;
    uint8_t qs[64];
    uint8_t scales_signs[32];
  };
  static_assert(sizeof(Block) == 98);
  static constexpr int kElems = 256, kStep = 32, kLow = -62, kHigh = 62;
  static constexpr bool kFloating = false, kWeight = true, kSub = false;
  static constexpr Min kMin = Min::none;

  HZ_FN void codes(const Block& b, int j, int8_t* out) { codebook_codes<iq3_xxs>(b, j, out); }
  static constexpr int kPoint = 4;
  static constexpr bool kShifted = false;
  static constexpr float kUnit = 0.25f;
  HZ_FN constexpr const auto& magnitudes() { return iq3_xxs_weights(); }
  HZ_FN constexpr const auto& grid() { return iq3_xxs_grid(); }
  HZ_FN void points(const Block& b, int j, uint16_t* out) {
    for (int i = 0; i < 8; ++i) out[i] = b.qs[8 * j + i];
  }
  HZ_FN uint32_t signs(const Block& b, int j) { return even_signs(load32(b.scales_signs + 4 * j) & 0xfffffff); }
  HZ_FN uint16_t half_bits(const Block& b) { return b.d; }
  HZ_FN int scale_bits(const Block& b, int j) { return (int)(load32(b.scales_signs + 4 * j) >> 28); }
  HZ_FN GroupScales scales(const Block& b, int j) { return codebook_row_scales<iq3_xxs>(b, j); }
  HZ_FN bool finite(const Block& b) { return half_finite(b.d); }
};

}  // namespace HZ_UNIT
}  // namespace hz::quant
