// SPDX-License-Identifier: Apache-2.0
// Q2_K: 256 weights in 84 bytes: 16 bytes of scale (low nibble) and minimum (high nibble) for each 16 weights, then
// 64 bytes of 2-bit codes, half d, half dmin. Each 32 bytes of codes hold four groups of 32, two bits each.
// weight = (d * sc) * q - dmin * mn.
#pragma once
#include "hanzo/quant/format/portable.h"

namespace hz::quant {
inline namespace HZ_UNIT {

struct q2_k {
  struct Block {
    uint8_t scales[16];
    uint8_t qs[64];
    uint16_t d, dmin;
  };
  static_assert(sizeof(Block) == 84);
  static constexpr int kElems = 256, kStep = 32, kLow = 0, kHigh = 3, kScaleLow = 0, kScaleHigh = 15;
  static constexpr bool kFloating = false, kWeight = true, kSub = true;
  static constexpr Min kMin = Min::per_half;
  static constexpr int kBits = 2;
  static constexpr HeadRange kHead[] = {{0, 16, 1}, {80, 4, 2}};

  HZ_FN void codes(const Block& b, int j, int8_t* out) {
    const uint8_t* q = b.qs + 32 * (j / 4);
    const int shift = 2 * (j % 4);
    for (int i = 0; i < 32; ++i) out[i] = (int8_t)((q[i] >> shift) & 3);
  }
  template <class A>
  HZ_FN ScalesOf<typename A::F, typename A::I> scales_of(const A& a, int j) {
    const auto low = a.u8(2 * j), high = a.u8(2 * j + 1);
    return {.dw = a.half(80), .mw = -a.half(82), .s0 = low & 15, .s1 = high & 15, .m0 = low >> 4, .m1 = high >> 4};
  }
  HZ_FN GroupScales scales(const Block& b, int j) { return row_scales<q2_k>(b, j); }
  HZ_FN bool finite(const Block& b) { return half_finite(b.d) && half_finite(b.dmin); }
};

}  // namespace HZ_UNIT
}  // namespace hz::quant
