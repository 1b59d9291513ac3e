// SPDX-License-Identifier: Apache-2.0
// Q4_0: 32 weights in 18 bytes: half d, then 16 bytes; byte i holds weight i (low nibble) and i + 16.
// weight = d * (q - 8).
#pragma once
#include "hanzo/quant/format/portable.h"

namespace hz::quant {
inline namespace HZ_UNIT {

struct q4_0 {
  struct Block {
    uint16_t d;
    uint8_t qs[16];
  };
  static_assert(sizeof(Block) == 18);
  static constexpr int kElems = 32, kStep = 32, kLow = -8, kHigh = 7;
  static constexpr bool kFloating = false, kWeight = true, kSub = false;
  static constexpr Min kMin = Min::none;

  HZ_FN void codes(const Block& b, int, int8_t* out) {
    for (int i = 0; i < 16; ++i) {
      out[i] = (int8_t)((b.qs[i] & 15) - 8);
      out[i + 16] = (int8_t)((b.qs[i] >> 4) - 8);
    }
  }
  HZ_FN GroupScales scales(const Block& b, int) { return {.dw = half_value(b.d)}; }
  HZ_FN bool finite(const Block& b) { return half_finite(b.d); }
};

}  // namespace HZ_UNIT
}  // namespace hz::quant
