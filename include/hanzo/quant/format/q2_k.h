// SPDX-License-Identifier: Apache-2.0
// Q2_K: 256 weights in 84 bytes: 16 bytes of scale (low nibble) and minimum (high nibble) for each 16 weights, then
// 64 bytes of 2-bit codes, half d, half dmin. Each 32 bytes of codes hold four groups of 32, two bits each.
// weight = (d * sc) * q - dmin * mn.
#pragma once
#include "hanzo/quant/format/portable.h"

namespace hz::quant {
inline namespace HZ_UNIT {

struct q2_k {
  struct Block {
    uint8_t scales[16];
    uint8_t qs[64];
    uint16_t d, dmin;
  };
  static_assert(sizeof(Block) == 84);
  static constexpr int kElems = 256, kStep = 32, kLow = 0, kHigh = 3;
  static constexpr bool kFloating = false, kWeight = true, kSub = true;
  static constexpr Min kMin = Min::per_half;

  HZ_FN void codes(const Block& b, int j, int8_t* out) {
    const uint8_t* q = b.qs + 32 * (j / 4);
    const int shift = 2 * (j % 4);
    for (int i = 0; i < 32; ++i) out[i] = (int8_t)((q[i] >> shift) & 3);
  }
  HZ_FN GroupScales scales(const Block& b, int j) {
    const int a = b.scales[2 * j], c = b.scales[2 * j + 1];
    return {.dw = half_value(b.d), .mw = -half_value(b.dmin), .s0 = a & 15, .s1 = c & 15, .m0 = a >> 4, .m1 = c >> 4};
  }
  HZ_FN bool finite(const Block& b) { return half_finite(b.d) && half_finite(b.dmin); }
};

}  // namespace HZ_UNIT
}  // namespace hz::quant
