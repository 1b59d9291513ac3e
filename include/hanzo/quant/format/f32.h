// SPDX-License-Identifier: Apache-2.0
// F32: IEEE binary32, one weight a block.
#pragma once
#include "hanzo/quant/format/portable.h"

namespace hz::quant {
inline namespace HZ_UNIT {

struct f32 {
  struct Block {
    uint32_t bits;
  };
  static_assert(sizeof(Block) == 4);
  static constexpr int kElems = 1;
  static constexpr bool kFloating = true, kWeight = true;

  HZ_FN float value(Block b) { return bits_to_float(b.bits); }
  HZ_FN bool finite(const Block& b) { return (b.bits & 0x7f800000u) != 0x7f800000u; }
};

}  // namespace HZ_UNIT
}  // namespace hz::quant
