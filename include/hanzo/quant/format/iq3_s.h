// SPDX-License-Identifier: Apache-2.0
// IQ3_S: 256 weights in 110 bytes: half d, 64 bytes with the low 8 bits of the points of four magnitudes, 8 bytes with
// the ninth bits, 32 bytes of signs, one bit a weight, 4 bytes of two 4-bit scales s, one for each 32 weights.
// weight = (d * (2s + 1)) * signed magnitude.
#pragma once
#include "hanzo/quant/format/iq_grid.h"

namespace hz::quant {
inline namespace HZ_UNIT {

struct iq3_s {
  struct Block {
    uint16_t d;
    uint8_t qs[64];
    uint8_t qh[8];
    uint8_t signs[32];
    uint8_t scales[4];
  };
  static_assert(sizeof(Block) == 110);
  static constexpr int kElems = 256, kStep = 32, kLow = -15, kHigh = 15;
  static constexpr bool kFloating = false, kWeight = true, kSub = false;
  static constexpr Min kMin = Min::none;

  HZ_FN void codes(const Block& b, int j, int8_t* out) { codebook_codes<iq3_s>(b, j, out); }
  static constexpr int kPoint = 4;
  static constexpr bool kShifted = false;
  static constexpr float kUnit = 1.0f;
  HZ_FN constexpr const auto& magnitudes() { return iq3_s_weights(); }
  HZ_FN constexpr const auto& grid() { return iq3_s_grid(); }
  HZ_FN void points(const Block& b, int j, uint16_t* out) {
    const uint16_t high = b.qh[j];
#pragma GCC unroll 1  // eight at once: unrolled, GCC makes vectors across groups, at twice the time
    for (int i = 0; i < 8; ++i) {
      const uint16_t ninth = (uint16_t)(high * to_ninth_bit().at[i]);  // in sixteen bits: so vectors do it
      out[i] = (uint16_t)(b.qs[8 * j + i] | (ninth & 256));
    }
  }
  HZ_FN uint32_t signs(const Block& b, int j) { return load32(b.signs + 4 * j); }
  HZ_FN uint16_t half_bits(const Block& b) { return b.d; }
  HZ_FN int scale_bits(const Block& b, int j) { return (b.scales[j / 2] >> (4 * (j % 2))) & 15; }
  HZ_FN GroupScales scales(const Block& b, int j) { return codebook_row_scales<iq3_s>(b, j); }
  HZ_FN bool finite(const Block& b) { return half_finite(b.d); }
};

}  // namespace HZ_UNIT
}  // namespace hz::quant
