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
  static constexpr int kBits = 4;
  static constexpr HeadRange kHead[] = {{0, 1, 1}};

  HZ_FN constexpr const auto& values() { return e2m1_doubled(); }
  HZ_FN void indices(const Block& b, int, uint8_t* out) {
    const uint8_t* q = b.qs;
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
  HZ_FN ScalesOf<typename A::F, typename A::I> scales_of(const A& a, int) {
    // 2^(e - 128): subnormal for e < 2
    const auto e = a.u8(0), tiny = A::negative(e - 2);
    return {.dw = A::from_bits((tiny & ((e + 1) << 21)) | (~tiny & ((e - 1) << 23)))};
  }
  HZ_FN GroupScales scales(const Block& b, int j) { return row_scales<mxfp4>(b, j); }
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
