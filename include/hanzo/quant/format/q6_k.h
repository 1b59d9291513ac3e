// SPDX-License-Identifier: Apache-2.0
// Q6_K: 256 weights in 210 bytes: 128 bytes of low nibbles, 64 bytes of two high bits, 16 signed scales, one for each
// 16 weights, half d. Each 128 weights take 64 + 32 bytes: groups 0 and 1 the low nibbles, 2 and 3 the high nibbles of
// the 64, group j bits 2j and 2j + 1 of the 32. weight = (d * sc) * (q - 32).
#pragma once
#include "hanzo/quant/format/portable.h"

namespace hz::quant {
inline namespace HZ_UNIT {

struct q6_k {
  struct Block {
    uint8_t ql[128];
    uint8_t qh[64];
    int8_t scales[16];
    uint16_t d;
  };
  static_assert(sizeof(Block) == 210);
  static constexpr int kElems = 256, kStep = 32, kLow = -32, kHigh = 31;
  static constexpr bool kFloating = false, kWeight = true, kSub = true;
  static constexpr Min kMin = Min::none;
  static constexpr int kBits = 6;
  static constexpr HeadRange kHead[] = {{192, 16, 1}, {208, 2, 2}};

  HZ_FN void codes(const Block& b, int j, int8_t* out) {
    const uint8_t* low = b.ql + 64 * (j / 4) + 32 * (j % 2);
    const uint8_t* high = b.qh + 32 * (j / 4);
    const int nibble = 4 * (j / 2 % 2), pair = 2 * (j % 4);
    for (int i = 0; i < 32; ++i) out[i] = (int8_t)((((low[i] >> nibble) & 15) | ((high[i] >> pair) & 3) << 4) - 32);
  }
  template <class A>
  HZ_FN ScalesOf<typename A::F, typename A::I> scales_of(const A& a, int j) {
    return {.dw = a.half(208), .s0 = a.i8(192 + 2 * j), .s1 = a.i8(193 + 2 * j)};
  }
  HZ_FN GroupScales scales(const Block& b, int j) { return row_scales<q6_k>(b, j); }
  HZ_FN bool finite(const Block& b) { return half_finite(b.d); }
};

}  // namespace HZ_UNIT
}  // namespace hz::quant
