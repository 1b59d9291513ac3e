// SPDX-License-Identifier: Apache-2.0
// TQ1_0: 256 ternary weights in 54 bytes: 48 bytes of five digits, 4 bytes of four, half d. A byte q holds the base-3
// fraction q / 256, most significant digit first; digit n is floor(3 * frac(q * 3^n / 256)). Bytes 0-31 hold weights
// i + 32 n, bytes 32-47 weights 160 + i + 16 n, the last four 240 + i + 4 n. weight = d * (digit - 1).
#pragma once
#include "hanzo/quant/format/portable.h"

namespace hz::quant {
inline namespace HZ_UNIT {

using TernaryPowers = Table<uint8_t, 5>;
HZ_TABLE(TernaryPowers, ternary_powers, {{1, 3, 9, 27, 81}})

struct tq1_0 {
  struct Block {
    uint8_t qs[48];
    uint8_t qh[4];
    uint16_t d;
  };
  static_assert(sizeof(Block) == 54);
  static constexpr int kElems = 256, kStep = 32, kLow = -1, kHigh = 1;
  static constexpr bool kFloating = false, kWeight = true, kSub = false;
  static constexpr Min kMin = Min::none;
  static constexpr HeadRange kHead[] = {{52, 2, 2}};

  HZ_FN void digits(const uint8_t* q, int count, int n, int8_t* out) {
    const uint32_t power = ternary_powers().at[n];
    for (int i = 0; i < count; ++i) out[i] = (int8_t)((((q[i] * power) & 255) * 3 >> 8) - 1);
  }
  HZ_FN void codes(const Block& b, int j, int8_t* out) {
    if (j < 5) return digits(b.qs, 32, j, out);
    digits(b.qs + 32, 16, 2 * (j - 5), out);
    if (j < 7) return digits(b.qs + 32, 16, 2 * (j - 5) + 1, out + 16);
    for (int n = 0; n < 4; ++n) digits(b.qh, 4, n, out + 16 + 4 * n);
  }
  template <class A>
  HZ_FN ScalesOf<typename A::F, typename A::I> scales_of(const A& a, int) {
    return {.dw = a.half(52)};
  }
  HZ_FN GroupScales scales(const Block& b, int j) { return row_scales<tq1_0>(b, j); }
  HZ_FN bool finite(const Block& b) { return half_finite(b.d); }
};

}  // namespace HZ_UNIT
}  // namespace hz::quant
