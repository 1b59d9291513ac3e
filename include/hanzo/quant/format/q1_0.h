// SPDX-License-Identifier: Apache-2.0
// Q1_0: 128 weights in 18 bytes: half d, then one bit a weight, lowest first. weight = d where set, -d where not.
#pragma once
#include "hanzo/quant/format/portable.h"

namespace hz::quant {
inline namespace HZ_UNIT {

// The value of a bit.
using SignValues = Table<int8_t, 16>;
HZ_TABLE(SignValues, sign_values, {{-1, 1}})

struct q1_0 {
  struct Block {
    uint16_t d;
    uint8_t qs[16];
  };
  static_assert(sizeof(Block) == 18);
  static constexpr int kElems = 128, kStep = 32, kLow = -1, kHigh = 1;
  static constexpr bool kFloating = false, kWeight = true, kSub = false;
  static constexpr Min kMin = Min::none;
  static constexpr int kBits = 1;
  static constexpr HeadRange kHead[] = {{0, 2, 2}};

  HZ_FN constexpr const auto& values() { return sign_values(); }
  HZ_FN void indices(const Block& b, int j, uint8_t* out) {
    const uint32_t bits = load32(b.qs + 4 * j);
    for (int i = 0; i < 32; ++i) out[i] = (bits >> i) & 1;
  }
  HZ_FN void codes(const Block& b, int j, int8_t* out) {
    uint8_t index[kStep];
    indices(b, j, index);
    for (int i = 0; i < kStep; ++i) out[i] = values().at[index[i]];
  }
  template <class A>
  HZ_FN ScalesOf<typename A::F, typename A::I> scales_of(const A& a, int) {
    return {.dw = a.half(0)};
  }
  HZ_FN GroupScales scales(const Block& b, int j) { return row_scales<q1_0>(b, j); }
  HZ_FN bool finite(const Block& b) { return half_finite(b.d); }
};

}  // namespace HZ_UNIT
}  // namespace hz::quant
