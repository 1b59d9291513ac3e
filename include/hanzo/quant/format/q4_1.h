// SPDX-License-Identifier: Apache-2.0
// Q4_1: 32 weights in 20 bytes: half d, half m, then 16 bytes; byte i holds weight i (low nibble) and i + 16.
// weight = d * q + m.
#pragma once
#include "hanzo/quant/format/portable.h"

namespace hz::quant {
inline namespace HZ_UNIT {

struct q4_1 {
  struct Block {
    uint16_t d, m;
    uint8_t qs[16];
  };
  static_assert(sizeof(Block) == 20);
  static constexpr int kElems = 32, kStep = 32, kLow = 0, kHigh = 15;
  static constexpr bool kFloating = false, kWeight = true, kSub = false;
  static constexpr Min kMin = Min::per_group;
  static constexpr int kBits = 4;
  static constexpr HeadRange kHead[] = {{0, 4, 2}};

  HZ_FN void codes(const Block& b, int, int8_t* out) {
    for (int i = 0; i < 16; ++i) {
      out[i] = (int8_t)(b.qs[i] & 15);
      out[i + 16] = (int8_t)(b.qs[i] >> 4);
    }
  }
  template <class A>
  HZ_FN ScalesOf<typename A::F, typename A::I> scales_of(const A& a, int) {
    return {.dw = a.half(0), .mw = a.half(2)};
  }
  HZ_FN GroupScales scales(const Block& b, int j) { return row_scales<q4_1>(b, j); }
  HZ_FN bool finite(const Block& b) { return half_finite(b.d) && half_finite(b.m); }
};

}  // namespace HZ_UNIT
}  // namespace hz::quant
