// SPDX-License-Identifier: Apache-2.0
// Q2_0: 64 weights in 18 bytes: half d, then 16 bytes of four 2-bit codes, lowest first. weight = d * (q - 1); the code
// 3 (2 d) is decoded, encoders do not write it.
#pragma once
#include "hanzo/quant/format/portable.h"

namespace hz::quant {
inline namespace HZ_UNIT {

struct q2_0 {
  struct Block {
    uint16_t d;
    uint8_t qs[16];
  };
  static_assert(sizeof(Block) == 18);
  static constexpr int kElems = 64, kStep = 32, kLow = -1, kHigh = 2;
  static constexpr bool kFloating = false, kWeight = true, kSub = false;
  static constexpr Min kMin = Min::none;
  static constexpr int kBits = 2;
  static constexpr HeadRange kHead[] = {{0, 2, 2}};

  HZ_FN void codes(const Block& b, int j, int8_t* out) {
    for (int i = 0; i < 8; ++i)
      for (int k = 0; k < 4; ++k) out[4 * i + k] = (int8_t)(((b.qs[8 * j + i] >> (2 * k)) & 3) - 1);
  }
  template <class A>
  HZ_FN ScalesOf<typename A::F, typename A::I> scales_of(const A& a, int) {
    return {.dw = a.half(0)};
  }
  HZ_FN GroupScales scales(const Block& b, int j) { return row_scales<q2_0>(b, j); }
  HZ_FN bool finite(const Block& b) { return half_finite(b.d); }
};

}  // namespace HZ_UNIT
}  // namespace hz::quant
