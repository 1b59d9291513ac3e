// SPDX-License-Identifier: Apache-2.0
// IQ1_M: 256 weights in 56 bytes: 32 bytes with the low 8 bits of the points of eight ternary values, 16 bytes with a
// nibble a point (3 high bits, the sign of a shift by 1/8), then four times 16 bits: four 3-bit scales s, one for each 16
// weights, and a nibble of half d, lowest first. weight = (d / 8 * (2s + 1)) * (8 * value +- 1).
#pragma once
#include "hanzo/quant/format/iq_grid.h"

namespace hz::quant {
inline namespace HZ_UNIT {

struct iq1_m {
  struct Block {
    uint8_t qs[32];
    uint8_t qh[16];
    uint16_t scales[4];
  };
  static_assert(sizeof(Block) == 56);
  static constexpr int kElems = 256, kStep = 32, kLow = -9, kHigh = 9;
  static constexpr bool kFloating = false, kWeight = true, kSub = true;
  static constexpr Min kMin = Min::none;

  HZ_FN uint16_t half_bits(const Block& b) {
    return (uint16_t)(b.scales[0] >> 12 | (b.scales[1] >> 12) << 4 | (b.scales[2] >> 12) << 8 | (b.scales[3] >> 12) << 12);
  }
  HZ_FN void codes(const Block& b, int j, int8_t* out) { codebook_codes<iq1_m>(b, j, out); }
  static constexpr int kPoint = 8;
  static constexpr bool kShifted = true;
  static constexpr float kUnit = 0.125f;
  HZ_FN constexpr const auto& magnitudes() { return iq1_weights(); }
  HZ_FN constexpr const auto& grid() { return iq1_grid(); }
  HZ_FN void points(const Block& b, int j, uint16_t* out) {
    constexpr uint64_t low = 1ull << 8 | 1ull << 20, high = 1ull << 40 | 1ull << 52;  // nibble k to bits 8 .. 11 of word k
    store_words(out, spread_bytes(load32(b.qs + 4 * j)) | ((b.qh[2 * j] * low + b.qh[2 * j + 1] * high) & 0x0700070007000700u));
  }
  HZ_FN uint32_t signs(const Block& b, int j) {  // a nibble a point, its top bit
    const int low = b.qh[2 * j], high = b.qh[2 * j + 1];
    return 255u * (uint32_t)((low & 8) >> 3 | (low & 128) << 1 | (high & 8) << 13 | (high & 128) << 17);
  }
  HZ_FN int scale_bits(const Block& b, int j) {
    const int two = b.scales[j / 2] >> (6 * (j % 2));
    return (two & 7) | ((two >> 3) & 7) << 4;
  }
  HZ_FN GroupScales scales(const Block& b, int j) { return codebook_row_scales<iq1_m>(b, j); }
  HZ_FN bool finite(const Block& b) { return half_finite(half_bits(b)); }
};

}  // namespace HZ_UNIT
}  // namespace hz::quant
