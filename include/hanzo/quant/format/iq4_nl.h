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

  HZ_FN void codes(const Block& b, int, int8_t* out) {
    for (int i = 0; i < 16; ++i) {
      out[i] = iq4_values().at[b.qs[i] & 15];
      out[i + 16] = iq4_values().at[b.qs[i] >> 4];
    }
  }
  HZ_FN GroupScales scales(const Block& b, int) { return {.dw = half_value(b.d)}; }
  HZ_FN bool finite(const Block& b) { return half_finite(b.d); }
};

}  // namespace HZ_UNIT
}  // namespace hz::quant
