// SPDX-License-Identifier: Apache-2.0
// Q5_K: 256 weights in 176 bytes: half d, half dmin, 12 bytes of scales and minimums as Q4_K, 32 bytes whose bit j is
// the fifth bit of weight i of group j, then 128 bytes of low nibbles as Q4_K. weight = (d * sc) * q - dmin * mn.
#pragma once
#include "hanzo/quant/format/q4_k.h"

namespace hz::quant {
inline namespace HZ_UNIT {

struct q5_k {
  struct Block {
    uint16_t d, dmin;
    uint8_t scales[12];
    uint8_t high[32];
    uint8_t qs[128];
  };
  static_assert(sizeof(Block) == 176);
  static constexpr int kElems = 256, kStep = 32, kLow = 0, kHigh = 31;
  static constexpr bool kFloating = false, kWeight = true, kSub = false;
  static constexpr Min kMin = Min::per_group;
  static constexpr int kBits = 5;
  static constexpr HeadRange kHead[] = {{0, 4, 2}, {4, 12, 1}};

  HZ_FN void codes(const Block& b, int j, int8_t* out) {
    const uint8_t* q = b.qs + 32 * (j / 2);
    const int shift = 4 * (j % 2);
    for (int i = 0; i < 32; ++i) out[i] = (int8_t)(((q[i] >> shift) & 15) | ((b.high[i] >> j) & 1) << 4);
  }
  template <class A>
  HZ_FN ScalesOf<typename A::F, typename A::I> scales_of(const A& a, int j) {
    const auto sm = k_scale_min(a, 4, j);
    return {.dw = a.half(0) * A::to_float(sm.scale), .mw = -(a.half(2) * A::to_float(sm.min))};
  }
  HZ_FN GroupScales scales(const Block& b, int j) { return row_scales<q5_k>(b, j); }
  HZ_FN bool finite(const Block& b) { return half_finite(b.d) && half_finite(b.dmin); }
};

}  // namespace HZ_UNIT
}  // namespace hz::quant
