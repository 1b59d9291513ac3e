// SPDX-License-Identifier: Apache-2.0
// TQ2_0: 256 weights in 66 bytes: 64 bytes of 2-bit codes (each 32 hold four groups of 32), half d.
// weight = d * (q - 1); the code 3 (2 d) is decoded, encoders do not write it.
#pragma once
#include "hanzo/quant/format/portable.h"

namespace hz::quant {
inline namespace HZ_UNIT {

struct tq2_0 {
  struct Block {
    uint8_t qs[64];
    uint16_t d;
  };
  static_assert(sizeof(Block) == 66);
  static constexpr int kElems = 256, kStep = 32, kLow = -1, kHigh = 2;
  static constexpr bool kFloating = false, kWeight = true, kSub = false;
  static constexpr Min kMin = Min::none;

  HZ_FN void codes(const Block& b, int j, int8_t* out) {
    const uint8_t* q = b.qs + 32 * (j / 4);
    const int shift = 2 * (j % 4);
    for (int i = 0; i < 32; ++i) out[i] = (int8_t)(((q[i] >> shift) & 3) - 1);
  }
  HZ_FN GroupScales scales(const Block& b, int) { return {.dw = half_value(b.d)}; }
  HZ_FN bool finite(const Block& b) { return half_finite(b.d); }
};

}  // namespace HZ_UNIT
}  // namespace hz::quant
