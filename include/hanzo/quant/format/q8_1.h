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

  HZ_FN void codes(const Block& b, int, int8_t* out) {
    for (int i = 0; i < 32; ++i) out[i] = b.qs[i];
  }
  HZ_FN GroupScales scales(const Block& b, int) { return {.dw = half_value(b.d)}; }
  HZ_FN bool finite(const Block& b) { return half_finite(b.d) && half_finite(b.s); }
};

}  // namespace HZ_UNIT
}  // namespace hz::quant
