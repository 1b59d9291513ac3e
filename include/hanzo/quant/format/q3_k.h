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
  static constexpr int kElems = 256, kStep = 32, kLow = -4, kHigh = 3, kScaleLow = -32, kScaleHigh = 31;
  static constexpr bool kFloating = false, kWeight = true, kSub = true;
  static constexpr Min kMin = Min::none;
  static constexpr int kBits = 3;
  static constexpr HeadRange kHead[] = {{96, 12, 1}, {108, 2, 2}};

  // Scale k (0..15): bytes 0-7 hold the low nibbles of k and k + 8, byte 8 + k % 4 two high bits of each of four.
  template <class A>
  HZ_FN typename A::I scale(const A& a, int k) {
    const auto low = (a.u8(96 + (k & 7)) >> (k < 8 ? 0 : 4)) & 15, high = (a.u8(104 + (k & 3)) >> (2 * (k >> 2))) & 3;
    return (low | (high << 4)) - 32;
  }
  HZ_FN void codes(const Block& b, int j, int8_t* out) {
    const uint8_t* q = b.qs + 32 * (j / 4);
    const int shift = 2 * (j % 4);
    for (int i = 0; i < 32; ++i) out[i] = (int8_t)(((q[i] >> shift) & 3) + ((b.high[i] >> j) & 1) * 4 - 4);
  }
  template <class A>
  HZ_FN ScalesOf<typename A::F, typename A::I> scales_of(const A& a, int j) {
    return {.dw = a.half(108), .s0 = scale(a, 2 * j), .s1 = scale(a, 2 * j + 1)};
  }
  HZ_FN GroupScales scales(const Block& b, int j) { return row_scales<q3_k>(b, j); }
  HZ_FN bool finite(const Block& b) { return half_finite(b.d); }
};

}  // namespace HZ_UNIT
}  // namespace hz::quant
