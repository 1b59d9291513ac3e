// SPDX-License-Identifier: Apache-2.0
// Q4_K: 256 weights in 144 bytes: half d, half dmin, 12 bytes with eight 6-bit scales and eight 6-bit
// minimums, then 128 bytes; each 32 bytes hold two groups of 32 (low nibbles, then high nibbles).
// weight = (d * sc) * q - dmin * mn.
#pragma once
#include "hanzo/quant/format/portable.h"

namespace hz::quant {
inline namespace HZ_UNIT {

// Scale and minimum j (0..7) of the 12-byte field shared by Q4_K and Q5_K: bytes 0-3 and 4-7 hold the six
// bits of scales and minimums 0-3; bytes 8-11 the low four bits of 4-7, whose high two sit atop bytes 0-7.
template <class I>
struct ScaleMin {
  I scale, min;
};
template <class A>
HZ_FN ScaleMin<typename A::I> k_scale_min(const A& a, int at, int j) {
  if (j < 4) return {a.u8(at + j) & 63, a.u8(at + j + 4) & 63};
  const auto low = a.u8(at + j + 4);
  return {(low & 15) | ((a.u8(at + j - 4) >> 6) << 4), (low >> 4) | ((a.u8(at + j) >> 6) << 4)};
}

struct q4_k {
  struct Block {
    uint16_t d, dmin;
    uint8_t scales[12];
    uint8_t qs[128];
  };
  static_assert(sizeof(Block) == 144);
  static constexpr int kElems = 256, kStep = 32, kLow = 0, kHigh = 15;
  static constexpr bool kFloating = false, kWeight = true, kSub = false;
  static constexpr Min kMin = Min::per_group;
  static constexpr int kBits = 4;
  static constexpr HeadRange kHead[] = {{0, 4, 2}, {4, 12, 1}};

  HZ_FN void codes(const Block& b, int j, int8_t* out) {
    const uint8_t* q = b.qs + 32 * (j / 2);
    const int shift = 4 * (j % 2);
    for (int i = 0; i < 32; ++i) out[i] = (int8_t)((q[i] >> shift) & 15);
  }
  template <class A>
  HZ_FN ScalesOf<typename A::F, typename A::I> scales_of(const A& a, int j) {
    const auto sm = k_scale_min(a, 4, j);
    return {.dw = a.half(0) * A::to_float(sm.scale), .mw = -(a.half(2) * A::to_float(sm.min))};
  }
  HZ_FN GroupScales scales(const Block& b, int j) { return row_scales<q4_k>(b, j); }
  HZ_FN bool finite(const Block& b) { return half_finite(b.d) && half_finite(b.dmin); }
};

}  // namespace HZ_UNIT
}  // namespace hz::quant
