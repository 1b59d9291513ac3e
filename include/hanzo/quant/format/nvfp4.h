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
  static constexpr int kBits = 4;
  static constexpr HeadRange kHead[] = {{0, 4, 1}};

  HZ_FN constexpr const auto& values() { return e2m1_doubled(); }
  HZ_FN void indices(const Block& b, int j, uint8_t* out) {
    const uint8_t* q = b.qs + 8 * j;
    for (int i = 0; i < 8; ++i) {
      out[i] = q[i] & 15;
      out[i + 8] = q[i] >> 4;
    }
  }
  HZ_FN void codes(const Block& b, int j, int8_t* out) {
    uint8_t index[kStep];
    indices(b, j, index);
    for (int i = 0; i < kStep; ++i) out[i] = values().at[index[i]];
  }
  template <class A>
  HZ_FN ScalesOf<typename A::F, typename A::I> scales_of(const A& a, int j) {
    // half of the UE4M3 value: m * 2^-10, or 2^(e - 8) * (1 + m / 8) from e = 1 on; code 127 is 0
    const auto code = a.u8(j) & 127, e = code >> 3, m = code & 7, normal = A::negative(0 - e);
    const auto bits = (normal & (((e + 119) << 23) | (m << 20)));
    return {.dw = A::from_bits(bits & A::negative(code - 127)) + A::to_float(m & ~normal) * 0x1p-10f};
  }
  HZ_FN GroupScales scales(const Block& b, int j) { return row_scales<nvfp4>(b, j); }
  HZ_FN bool finite(const Block& b) {
    return (b.d[0] & 127) != 127 && (b.d[1] & 127) != 127 && (b.d[2] & 127) != 127 && (b.d[3] & 127) != 127;
  }
};

}  // namespace HZ_UNIT
}  // namespace hz::quant
