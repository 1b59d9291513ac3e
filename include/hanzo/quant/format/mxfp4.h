// SPDX-License-Identifier: Apache-2.0
// MXFP4 (OCP Microscaling v1.0): 32 weights in 17 bytes: a power-of-two exponent e, then 16 bytes; byte i holds the E2M1
// codes of weights i (low nibble) and i + 16. weight = 2^(e - 128) * doubled E2M1 value; e = 255 is forbidden.
#pragma once
#include "hanzo/quant/format/portable.h"

namespace hz::quant {
inline namespace HZ_UNIT {

// Twice the E2M1 values, by code; shared with NVFP4.
using E2m1Doubled = Table<int8_t, 16>;
HZ_TABLE(E2m1Doubled, e2m1_doubled, {{0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12}})

struct mxfp4 {
  struct Block {
    uint8_t e;
    uint8_t qs[16];
  };
  static_assert(sizeof(Block) == 17);
  static constexpr int kElems = 32, kStep = 32, kLow = -12, kHigh = 12;
  static constexpr bool kFloating = false, kWeight = true, kSub = false;
  static constexpr Min kMin = Min::none;

  HZ_FN float scale(int e) { return bits_to_float(e < 2 ? 0x00200000u << e : (uint32_t)(e - 1) << 23); }
  HZ_FN void codes(const Block& b, int, int8_t* out) {
    for (int i = 0; i < 16; ++i) {
      out[i] = e2m1_doubled().at[b.qs[i] & 15];
      out[i + 16] = e2m1_doubled().at[b.qs[i] >> 4];
    }
  }
  HZ_FN GroupScales scales(const Block& b, int) { return {.dw = scale(b.e)}; }
  HZ_FN bool finite(const Block& b) {
    if (b.e < 253) return true;
    const int limit = b.e == 253 ? 8 : b.e == 254 ? 4 : 0;  // |doubled value| * 2^(e - 128) >= 2^128 from here
    if (limit == 0) return false;
    for (int i = 0; i < 16; ++i)
      if (e2m1_doubled().at[b.qs[i] & 7] >= limit || e2m1_doubled().at[(b.qs[i] >> 4) & 7] >= limit) return false;
    return true;
  }
};

}  // namespace HZ_UNIT
}  // namespace hz::quant
