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

  HZ_FN void codes(const Block& b, int j, int8_t* out) { codebook_codes<iq2_xs>(b, j, out); }
  static constexpr int kPoint = 8;
  static constexpr bool kShifted = false;
  static constexpr float kUnit = 0.125f;
  HZ_FN constexpr const auto& magnitudes() { return iq2_weights(); }
  HZ_FN constexpr const auto& grid() { return iq2_xs_grid(); }
  HZ_FN void points(const Block& b, int j, uint16_t* out) { store_words(out, load_words(b.qs + 4 * j) & 0x01ff01ff01ff01ffu); }
  HZ_FN uint32_t signs(const Block& b, int j) {  // four times 7 bits and the one that makes their number even
    const uint64_t seven = load_words(b.qs + 4 * j) >> 9 & 0x007f007f007f007fu, two = seven ^ seven >> 4, one = two ^ two >> 2;
    const uint64_t eight = seven | ((one ^ one >> 1) & 0x0001000100010001u) << 7, pairs = (eight | eight >> 8) & 0x0000ffff0000ffffu;
    return (uint32_t)(pairs | pairs >> 16);
  }
  HZ_FN uint16_t half_bits(const Block& b) { return b.d; }
  HZ_FN int scale_bits(const Block& b, int j) { return b.scales[j]; }
  HZ_FN GroupScales scales(const Block& b, int j) { return codebook_row_scales<iq2_xs>(b, j); }
  HZ_FN bool finite(const Block& b) { return half_finite(b.d); }
};

}  // namespace HZ_UNIT
}  // namespace hz::quant
