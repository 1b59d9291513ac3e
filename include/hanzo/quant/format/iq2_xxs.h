// SPDX-License-Identifier: Apache-2.0
// IQ2_XXS: 256 weights in 66 bytes: half d, then 8 bytes a group of 32: four bytes, each a point of eight magnitudes in
// the codebook, and 32 bits: four times 7 bits of signs, 4 bits of scale s. weight = (d * (2s + 1) / 8) * signed magnitude.
#pragma once
#include "hanzo/quant/format/iq_grid.h"

namespace hz::quant {
inline namespace HZ_UNIT {

struct iq2_xxs {
  struct Block {
    uint16_t d;
    uint8_t qs[64];
  };
  static_assert(sizeof(Block) == 66);
  static constexpr int kElems = 256, kStep = 32, kLow = -43, kHigh = 43;
  static constexpr bool kFloating = false, kWeight = true, kSub = false;
  static constexpr Min kMin = Min::none;

  HZ_FN void codes(const Block& b, int j, int8_t* out) { codebook_codes<iq2_xxs>(b, j, out); }
  static constexpr int kPoint = 8;
  static constexpr bool kShifted = false;
  static constexpr float kUnit = 0.125f;
  HZ_FN constexpr const auto& magnitudes() { return iq2_weights(); }
  HZ_FN constexpr const auto& grid() { return iq2_xxs_grid(); }
  HZ_FN void points(const Block& b, int j, uint16_t* out) { store_words(out, spread_bytes(load32(b.qs + 8 * j))); }
  HZ_FN uint32_t signs(const Block& b, int j) { return even_signs(load32(b.qs + 8 * j + 4) & 0xfffffff); }
  HZ_FN uint16_t half_bits(const Block& b) { return b.d; }
  HZ_FN int scale_bits(const Block& b, int j) { return (int)(load32(b.qs + 8 * j + 4) >> 28); }
  HZ_FN GroupScales scales(const Block& b, int j) { return codebook_row_scales<iq2_xxs>(b, j); }
  HZ_FN bool finite(const Block& b) { return half_finite(b.d); }
};

}  // namespace HZ_UNIT
}  // namespace hz::quant
