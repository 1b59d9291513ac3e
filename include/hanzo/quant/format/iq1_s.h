// SPDX-License-Identifier: Apache-2.0
// IQ1_S: 256 weights in 50 bytes: half d, 32 bytes with the low 8 bits of the points of eight ternary values, then 16
// bits a group of 32: four times 3 high bits, 3 bits of scale s, the sign of a shift by 1/8.
// weight = (d * (2s + 1) / 8) * (8 * value +- 1).
#pragma once
#include "hanzo/quant/format/iq_grid.h"

namespace hz::quant {
inline namespace HZ_UNIT {

struct iq1_s {
  struct Block {
    uint16_t d;
    uint8_t qs[32];
    uint16_t qh[8];
  };
  static_assert(sizeof(Block) == 50);
  static constexpr int kElems = 256, kStep = 32, kLow = -9, kHigh = 9;
  static constexpr bool kFloating = false, kWeight = true, kSub = false;
  static constexpr Min kMin = Min::none;

  HZ_FN void codes(const Block& b, int j, int8_t* out) { codebook_codes<iq1_s>(b, j, out); }
  static constexpr int kPoint = 8;
  static constexpr bool kShifted = true;
  static constexpr float kUnit = 0.125f;
  HZ_FN constexpr const auto& magnitudes() { return iq1_weights(); }
  HZ_FN constexpr const auto& grid() { return iq1_grid(); }
  HZ_FN void points(const Block& b, int j, uint16_t* out) {
    constexpr uint64_t places = 1ull << 8 | 1ull << 21 | 1ull << 34 | 1ull << 47;  // bits 3k .. 3k + 2 to bits 8 .. 10 of word k
    store_words(out, spread_bytes(load32(b.qs + 4 * j)) | (((b.qh[j] & 0xfff) * places) & 0x0700070007000700u));
  }
  HZ_FN uint32_t signs(const Block& b, int j) { return b.qh[j] & 0x8000 ? 0xffffffffu : 0; }
  HZ_FN uint16_t half_bits(const Block& b) { return b.d; }
  HZ_FN int scale_bits(const Block& b, int j) { return (b.qh[j] >> 12) & 7; }
  HZ_FN GroupScales scales(const Block& b, int j) { return codebook_row_scales<iq1_s>(b, j); }
  HZ_FN bool finite(const Block& b) { return half_finite(b.d); }
};

}  // namespace HZ_UNIT
}  // namespace hz::quant
