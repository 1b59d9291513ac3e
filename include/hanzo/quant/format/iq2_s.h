// SPDX-License-Identifier: Apache-2.0
// IQ2_S: 256 weights in 82 bytes: half d, 32 bytes with the low 8 bits of the points, 32 bytes of signs, one bit a
// weight, 8 bytes with two high bits of four points each, 8 bytes of two 4-bit scales s, one for each 16 weights.
// weight = (d / 8 * (2s + 1)) * signed magnitude.
#pragma once
#include "hanzo/quant/format/iq_grid.h"

namespace hz::quant {
inline namespace HZ_UNIT {

struct iq2_s {
  struct Block {
    uint16_t d;
    uint8_t qs[32];
    uint8_t signs[32];
    uint8_t qh[8];
    uint8_t scales[8];
  };
  static_assert(sizeof(Block) == 82);
  static constexpr int kElems = 256, kStep = 32, kLow = -43, kHigh = 43;
  static constexpr bool kFloating = false, kWeight = true, kSub = true;
  static constexpr Min kMin = Min::none;

  HZ_FN void codes(const Block& b, int j, int8_t* out) { codebook_codes<iq2_s>(b, j, out); }
  static constexpr int kPoint = 8;
  static constexpr bool kShifted = false;
  static constexpr float kUnit = 0.125f;
  HZ_FN constexpr const auto& magnitudes() { return iq2_weights(); }
  HZ_FN constexpr const auto& grid() { return iq2_s_grid(); }
  HZ_FN void points(const Block& b, int j, uint16_t* out) {
    constexpr uint64_t places = 1ull << 8 | 1ull << 22 | 1ull << 36 | 1ull << 50;  // bits 2k, 2k + 1 to bits 8, 9 of word k
    store_words(out, spread_bytes(load32(b.qs + 4 * j)) | ((b.qh[j] * places) & 0x0300030003000300u));
  }
  HZ_FN uint32_t signs(const Block& b, int j) { return load32(b.signs + 4 * j); }
  HZ_FN uint16_t half_bits(const Block& b) { return b.d; }
  HZ_FN int scale_bits(const Block& b, int j) { return b.scales[j]; }
  HZ_FN GroupScales scales(const Block& b, int j) { return codebook_row_scales<iq2_s>(b, j); }
  HZ_FN bool finite(const Block& b) { return half_finite(b.d); }
};

}  // namespace HZ_UNIT
}  // namespace hz::quant
