// SPDX-License-Identifier: Apache-2.0
// IQ4_NL: 32 weights in 18 bytes, laid out as Q4_0; a nibble picks one of 16 unevenly spaced values.
// weight = d * value[q].
#pragma once
#include "hanzo/quant/format/portable.h"

namespace hz::quant {
inline namespace HZ_UNIT {

// The values of IQ4_NL and IQ4_XS, ascending.
using Iq4Values = Table<int8_t, 16>;
HZ_TABLE(Iq4Values, iq4_values, {{-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113}})

struct iq4_nl {
  struct Block {
    uint16_t d;
    uint8_t qs[16];
  };
  static_assert(sizeof(Block) == 18);
  static constexpr int kElems = 32, kStep = 32, kLow = -127, kHigh = 113;
  static constexpr bool kFloating = false, kWeight = true, kSub = false;
  static constexpr Min kMin = Min::none;
  static constexpr int kBits = 4;
  static constexpr HeadRange kHead[] = {{0, 2, 2}};

  HZ_FN constexpr const auto& values() { return iq4_values(); }
  HZ_FN void indices(const Block& b, int, uint8_t* out) {
    const uint8_t* q = b.qs;
    for (int i = 0; i < 16; ++i) {
      out[i] = q[i] & 15;
      out[i + 16] = q[i] >> 4;
    }
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
  HZ_FN GroupScales scales(const Block& b, int j) { return row_scales<iq4_nl>(b, j); }
  HZ_FN bool finite(const Block& b) { return half_finite(b.d); }
};

}  // namespace HZ_UNIT
}  // namespace hz::quant
