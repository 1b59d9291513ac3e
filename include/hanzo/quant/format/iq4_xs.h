// SPDX-License-Identifier: Apache-2.0
// IQ4_XS: 256 weights in 136 bytes: half d, 16 bits with two high bits of each scale, 4 bytes with the low nibbles of
// the eight 6-bit scales, then eight groups of 32 laid out as Q4_0. weight = (d * (sc - 32)) * value[q].
#pragma once
#include "hanzo/quant/format/iq4_nl.h"

namespace hz::quant {
inline namespace HZ_UNIT {

struct iq4_xs {
  struct Block {
    uint16_t d;
    uint16_t scales_high;
    uint8_t scales_low[4];
    uint8_t qs[128];
  };
  static_assert(sizeof(Block) == 136);
  static constexpr int kElems = 256, kStep = 32, kLow = -127, kHigh = 113;
  static constexpr bool kFloating = false, kWeight = true, kSub = false;
  static constexpr Min kMin = Min::none;
  static constexpr int kBits = 4;
  static constexpr HeadRange kHead[] = {{0, 4, 2}, {4, 4, 1}};

  HZ_FN constexpr const auto& values() { return iq4_values(); }
  HZ_FN void indices(const Block& b, int j, uint8_t* out) {
    const uint8_t* q = b.qs + 16 * j;
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
  HZ_FN ScalesOf<typename A::F, typename A::I> scales_of(const A& a, int j) {
    const auto low = (a.u8(4 + j / 2) >> (4 * (j % 2))) & 15, high = (a.u16(2) >> (2 * j)) & 3;
    return {.dw = a.half(0) * A::to_float((low | (high << 4)) - 32)};
  }
  HZ_FN GroupScales scales(const Block& b, int j) { return row_scales<iq4_xs>(b, j); }
  HZ_FN bool finite(const Block& b) { return half_finite(b.d); }
};

}  // namespace HZ_UNIT
}  // namespace hz::quant
