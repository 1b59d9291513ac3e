// SPDX-License-Identifier: Apache-2.0
// Q8_K: 256 activations in 292 bytes: float d, 256 signed bytes, then the integer sums of each 16. value = d * q.
// A peers' activation kind; decoded and encoded here, not chosen as a weight.
#pragma once
#include "hanzo/quant/format/portable.h"

namespace hz::quant {
inline namespace HZ_UNIT {

struct q8_k {
  struct Block {
    uint32_t d;  // binary32
    int8_t qs[256];
    int16_t sums[16];
  };
  static_assert(sizeof(Block) == 292);
  static constexpr int kElems = 256, kStep = 32, kLow = -128, kHigh = 127;
  static constexpr bool kFloating = false, kWeight = false, kSub = false;
  static constexpr Min kMin = Min::none;
  static constexpr HeadRange kHead[] = {{0, 4, 2}};

  HZ_FN void codes(const Block& b, int j, int8_t* out) {
    for (int i = 0; i < 32; ++i) out[i] = b.qs[32 * j + i];
  }
  template <class A>
  HZ_FN ScalesOf<typename A::F, typename A::I> scales_of(const A& a, int) {
    return {.dw = A::from_bits(a.u16(0) | a.u16(2) << 16)};
  }
  HZ_FN GroupScales scales(const Block& b, int j) { return row_scales<q8_k>(b, j); }
  HZ_FN bool finite(const Block& b) {
    const uint32_t top = b.d & 0x7fffffffu;
    if (top < 0x7f800000u - (7u << 23)) return true;  // |d| * 128 is finite
    if (top >= 0x7f800000u) return false;
    for (int i = 0; i < 256; ++i) {
      const float v = bits_to_float(top) * (float)b.qs[i];
      if (v - v != 0) return false;
    }
    return true;
  }
};

}  // namespace HZ_UNIT
}  // namespace hz::quant
