// SPDX-License-Identifier: Apache-2.0
// Q4_0: 32 weights in 18 bytes: half d, then 16 bytes; byte i holds weight i (low nibble) and i + 16.
// weight = d * (q - 8).
#pragma once
#include "hanzo/quant/format/portable.h"

namespace hz::quant {
inline namespace HZ_UNIT {

struct q4_0 {
  struct Block {
    uint16_t d;
    uint8_t qs[16];
  };
  static_assert(sizeof(Block) == 18);
  static constexpr int kElems = 32, kStep = 32, kLow = -8, kHigh = 7;
  static constexpr bool kFloating = false, kWeight = true, kSub = false;
  static constexpr Min kMin = Min::none;
  static constexpr int kBits = 4;
  static constexpr HeadRange kHead[] = {{0, 2, 2}};

  HZ_FN void codes(const Block& b, int, int8_t* out) {
    for (int i = 0; i < 16; ++i) {
      out[i] = (int8_t)((b.qs[i] & 15) - 8);
      out[i + 16] = (int8_t)((b.qs[i] >> 4) - 8);
    }
  }
  template <class A>
  HZ_FN ScalesOf<typename A::F, typename A::I> scales_of(const A& a, int) {
    return {.dw = a.half(0)};
  }
  HZ_FN GroupScales scales(const Block& b, int j) { return row_scales<q4_0>(b, j); }
  HZ_FN bool finite(const Block& b) { return half_finite(b.d); }
};

}  // namespace HZ_UNIT
}  // namespace hz::quant
