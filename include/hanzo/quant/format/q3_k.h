// SPDX-License-Identifier: Apache-2.0
// Q3_K: 256 weights in 110 bytes: 32 bytes whose bit j is the third bit of weight i of group j, 64 bytes of low
// two bits (each 32 hold four groups of 32), 12 bytes with sixteen 6-bit scales, one for each 16 weights, half d.
// weight = (d * (sc - 32)) * (q - 4).
#pragma once
#include "hanzo/quant/format/portable.h"

namespace hz::quant {
inline namespace HZ_UNIT {

struct q3_k {
  struct Block {
    uint8_t high[32];
    uint8_t qs[64];
    uint8_t scales[12];
    uint16_t d;
  };
  static_assert(sizeof(Block) == 110);
  static constexpr int kElems = 256, kStep = 32, kLow = -4, kHigh = 3;
  static constexpr bool kFloating = false, kWeight = true, kSub = true;
  static constexpr Min kMin = Min::none;

  // Scale k (0..15): bytes 0-7 hold the low nibbles of k and k + 8, byte 8 + k % 4 two high bits of each of four.
  HZ_FN int scale(const Block& b, int k) {
    const int low = (b.scales[k & 7] >> (k < 8 ? 0 : 4)) & 15, high = (b.scales[8 + (k & 3)] >> (2 * (k >> 2))) & 3;
    return (low | high << 4) - 32;
  }
  HZ_FN void codes(const Block& b, int j, int8_t* out) {
    const uint8_t* q = b.qs + 32 * (j / 4);
    const int shift = 2 * (j % 4);
    for (int i = 0; i < 32; ++i) out[i] = (int8_t)(((q[i] >> shift) & 3) + ((b.high[i] >> j) & 1) * 4 - 4);
  }
  HZ_FN GroupScales scales(const Block& b, int j) {
    return {.dw = half_value(b.d), .s0 = scale(b, 2 * j), .s1 = scale(b, 2 * j + 1)};
  }
  HZ_FN bool finite(const Block& b) { return half_finite(b.d); }
};

}  // namespace HZ_UNIT
}  // namespace hz::quant
