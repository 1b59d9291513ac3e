// SPDX-License-Identifier: Apache-2.0
// Q1_0: 128 weights in 18 bytes: half d, then one bit a weight, lowest first. weight = d where set, -d where not.
#pragma once
#include "hanzo/quant/format/portable.h"

namespace hz::quant {
inline namespace HZ_UNIT {

struct q1_0 {
  struct Block {
    uint16_t d;
    uint8_t qs[16];
  };
  static_assert(sizeof(Block) == 18);
  static constexpr int kElems = 128, kStep = 32, kLow = -1, kHigh = 1;
  static constexpr bool kFloating = false, kWeight = true, kSub = false;
  static constexpr Min kMin = Min::none;

  HZ_FN void codes(const Block& b, int j, int8_t* out) {
    const uint32_t bits = load32(b.qs + 4 * j);
    for (int i = 0; i < 32; ++i) out[i] = (int8_t)(2 * (int)((bits >> i) & 1) - 1);
  }
  HZ_FN GroupScales scales(const Block& b, int) { return {.dw = half_value(b.d)}; }
  HZ_FN bool finite(const Block& b) { return half_finite(b.d); }
};

}  // namespace HZ_UNIT
}  // namespace hz::quant
