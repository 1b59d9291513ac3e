// SPDX-License-Identifier: Apache-2.0
// Q5_1: 32 weights in 24 bytes: half d, half m, 4 bytes with bit i the fifth bit of weight i, then 16 bytes; byte i holds
// the low nibbles of weights i and i + 16. weight = d * q + m.
#pragma once
#include "hanzo/quant/format/portable.h"

namespace hz::quant {
inline namespace HZ_UNIT {

struct q5_1 {
  struct Block {
    uint16_t d, m;
    uint8_t qh[4];
    uint8_t qs[16];
  };
  static_assert(sizeof(Block) == 24);
  static constexpr int kElems = 32, kStep = 32, kLow = 0, kHigh = 31;
  static constexpr bool kFloating = false, kWeight = true, kSub = false;
  static constexpr Min kMin = Min::per_group;
  static constexpr int kBits = 5;
  static constexpr HeadRange kHead[] = {{0, 4, 2}};

  HZ_FN void codes(const Block& b, int, int8_t* out) {
    const uint32_t high = load32(b.qh);
    for (int i = 0; i < 16; ++i) {
      out[i] = (int8_t)((b.qs[i] & 15) | (int)((high >> i) & 1) << 4);
      out[i + 16] = (int8_t)((b.qs[i] >> 4) | (int)((high >> (i + 16)) & 1) << 4);
    }
  }
  template <class A>
  HZ_FN ScalesOf<typename A::F, typename A::I> scales_of(const A& a, int) {
    return {.dw = a.half(0), .mw = a.half(2)};
  }
  HZ_FN GroupScales scales(const Block& b, int j) { return row_scales<q5_1>(b, j); }
  HZ_FN bool finite(const Block& b) { return half_finite(b.d) && half_finite(b.m); }
};

}  // namespace HZ_UNIT
}  // namespace hz::quant
