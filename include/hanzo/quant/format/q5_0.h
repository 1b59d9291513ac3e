// SPDX-License-Identifier: Apache-2.0
// Q5_0: 32 weights in 22 bytes: half d, 4 bytes with bit i the fifth bit of weight i, then 16 bytes; byte i holds
// the low nibbles of weights i and i + 16. weight = d * (q - 16).
#pragma once
#include "hanzo/quant/format/portable.h"

namespace hz::quant {
inline namespace HZ_UNIT {

struct q5_0 {
  struct Block {
    uint16_t d;
    uint8_t qh[4];
    uint8_t qs[16];
  };
  static_assert(sizeof(Block) == 22);
  static constexpr int kElems = 32, kStep = 32, kLow = -16, kHigh = 15;
  static constexpr bool kFloating = false, kWeight = true, kSub = false;
  static constexpr Min kMin = Min::none;
  static constexpr int kBits = 5;
  static constexpr HeadRange kHead[] = {{0, 2, 2}};

  HZ_FN void codes(const Block& b, int, int8_t* out) {
    const uint32_t high = load32(b.qh);
    for (int i = 0; i < 16; ++i) {
      out[i] = (int8_t)(((b.qs[i] & 15) | (int)((high >> i) & 1) << 4) - 16);
      out[i + 16] = (int8_t)(((b.qs[i] >> 4) | (int)((high >> (i + 16)) & 1) << 4) - 16);
    }
  }
  template <class A>
  HZ_FN ScalesOf<typename A::F, typename A::I> scales_of(const A& a, int) {
    return {.dw = a.half(0)};
  }
  HZ_FN GroupScales scales(const Block& b, int j) { return row_scales<q5_0>(b, j); }
  HZ_FN bool finite(const Block& b) { return half_finite(b.d); }
};

}  // namespace HZ_UNIT
}  // namespace hz::quant
