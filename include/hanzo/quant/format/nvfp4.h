// SPDX-License-Identifier: Apache-2.0
// NVFP4: 64 weights in 36 bytes: four UE4M3 scales, one for each 16 weights, then 8 bytes for each 16; byte i holds the
// E2M1 codes of weights i (low nibble) and i + 8. weight = (UE4M3 / 2) * doubled E2M1 value. Bit 7 of a scale is ignored;
// 0x7f is forbidden (it decodes to 0). A companion tensor NAME.scale multiplies the finished product.
#pragma once
#include "hanzo/quant/format/mxfp4.h"

namespace hz::quant {
inline namespace HZ_UNIT {

struct nvfp4 {
  struct Block {
    uint8_t d[4];
    uint8_t qs[32];
  };
  static_assert(sizeof(Block) == 36);
  static constexpr int kElems = 64, kStep = 16, kLow = -12, kHigh = 12;
  static constexpr bool kFloating = false, kWeight = true, kSub = false;
  static constexpr Min kMin = Min::none;

  // Half of the UE4M3 value: m * 2^-10, or 2^(e - 8) * (1 + m / 8) from e = 1 on.
  HZ_FN float scale(int code) {
    const int e = (code >> 3) & 15, m = code & 7;
    if ((code & 127) == 127) return 0;
    return e == 0 ? (float)m * 0.0009765625f : bits_to_float((uint32_t)(e + 119) << 23 | (uint32_t)m << 20);
  }
  HZ_FN void codes(const Block& b, int j, int8_t* out) {
    const uint8_t* q = b.qs + 8 * j;
    for (int i = 0; i < 8; ++i) {
      out[i] = e2m1_doubled().at[q[i] & 15];
      out[i + 8] = e2m1_doubled().at[q[i] >> 4];
    }
  }
  HZ_FN GroupScales scales(const Block& b, int j) { return {.dw = scale(b.d[j])}; }
  HZ_FN bool finite(const Block& b) {
    return (b.d[0] & 127) != 127 && (b.d[1] & 127) != 127 && (b.d[2] & 127) != 127 && (b.d[3] & 127) != 127;
  }
};

}  // namespace HZ_UNIT
}  // namespace hz::quant
