// SPDX-License-Identifier: Apache-2.0
// Q8_1: 32 activations in 36 bytes: half d, half s = d * sum of the codes, then 32 signed bytes. value = d * q.
// A peers' activation kind; decoded and encoded here, not chosen as a weight.
#pragma once
#include "hanzo/quant/format/portable.h"

namespace hz::quant {
inline namespace HZ_UNIT {

struct q8_1 {
  struct Block {
    uint16_t d, s;
    int8_t qs[32];
  };
  static_assert(sizeof(Block) == 36);
  static constexpr int kElems = 32, kStep = 32, kLow = -128, kHigh = 127;
  static constexpr bool kFloating = false, kWeight = false, kSub = false;
  static constexpr Min kMin = Min::none;
  static constexpr HeadRange kHead[] = {{0, 4, 2}};

  HZ_FN void codes(const Block& b, int, int8_t* out) {
    for (int i = 0; i < 32; ++i) out[i] = b.qs[i];
  }
  template <class A>
  HZ_FN ScalesOf<typename A::F, typename A::I> scales_of(const A& a, int) {
    return {.dw = a.half(0)};
  }
  HZ_FN GroupScales scales(const Block& b, int j) { return row_scales<q8_1>(b, j); }
  HZ_FN bool finite(const Block& b) { return half_finite(b.d) && half_finite(b.s); }
};

}  // namespace HZ_UNIT
}  // namespace hz::quant
