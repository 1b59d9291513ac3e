// SPDX-License-Identifier: Apache-2.0
// Q4_K: 256 weights in 144 bytes: half d, half dmin, 12 bytes with eight 6-bit scales and eight 6-bit
// minimums, then 128 bytes; each 32 bytes hold two groups of 32 (low nibbles, then high nibbles).
// weight = (d * sc) * q - dmin * mn.
#pragma once
#include "hanzo/quant/format/portable.h"

namespace hz::quant {
inline namespace HZ_UNIT {

// Scale and minimum j (0..7) of the 12-byte field shared by Q4_K and Q5_K: bytes 0-3 and 4-7 hold the six
// bits of scales and minimums 0-3; bytes 8-11 the low four bits of 4-7, whose high two sit atop bytes 0-7.
struct ScaleMin {
  int scale, min;
};
HZ_FN ScaleMin k_scale_min(const uint8_t* s, int j) {
  if (j < 4) return {s[j] & 63, s[j + 4] & 63};
  return {(s[j + 4] & 15) | ((s[j - 4] >> 6) << 4), (s[j + 4] >> 4) | ((s[j] >> 6) << 4)};
}

struct q4_k {
  struct Block {
    uint16_t d, dmin;
    uint8_t scales[12];
    uint8_t qs[128];
  };
  static_assert(sizeof(Block) == 144);
  static constexpr int kElems = 256, kStep = 32, kLow = 0, kHigh = 15;
  static constexpr bool kFloating = false, kWeight = true, kSub = false;
  static constexpr Min kMin = Min::per_group;

  HZ_FN void codes(const Block& b, int j, int8_t* out) {
    const uint8_t* q = b.qs + 32 * (j / 2);
    const int shift = 4 * (j % 2);
    for (int i = 0; i < 32; ++i) out[i] = (int8_t)((q[i] >> shift) & 15);
  }
  HZ_FN GroupScales scales(const Block& b, int j) {
    const ScaleMin sm = k_scale_min(b.scales, j);
    return {.dw = half_value(b.d) * (float)sm.scale, .mw = -(half_value(b.dmin) * (float)sm.min)};
  }
  HZ_FN bool finite(const Block& b) { return half_finite(b.d) && half_finite(b.dmin); }
};

}  // namespace HZ_UNIT
}  // namespace hz::quant
