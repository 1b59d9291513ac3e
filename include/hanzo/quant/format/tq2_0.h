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
  static constexpr int kBits = 2;
  static constexpr HeadRange kHead[] = {{64, 2, 2}};

  HZ_FN void codes(const Block& b, int j, int8_t* out) {
    const uint8_t* q = b.qs + 32 * (j / 4);
    const int shift = 2 * (j % 4);
    for (int i = 0; i < 32; ++i) out[i] = (int8_t)(((q[i] >> shift) & 3) - 1);
  }
  template <class A>
  HZ_FN ScalesOf<typename A::F, typename A::I> scales_of(const A& a, int) {
    return {.dw = a.half(64)};
  }
  HZ_FN GroupScales scales(const Block& b, int j) { return row_scales<tq2_0>(b, j); }
  HZ_FN bool finite(const Block& b) { return half_finite(b.d); }
};

}  // namespace HZ_UNIT
}  // namespace hz::quant
