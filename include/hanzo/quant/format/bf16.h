// SPDX-License-Identifier: Apache-2.0
// BF16: the high half of an IEEE binary32, one weight a block.
#pragma once
#include "hanzo/quant/format/portable.h"

namespace hz::quant {
inline namespace HZ_UNIT {

struct bf16 {
  struct Block {
    uint16_t bits;
  };
  static_assert(sizeof(Block) == 2);
  static constexpr int kElems = 1;
  static constexpr bool kFloating = true, kWeight = true, kBrain = true;

  HZ_FN float value(Block b) { return bits_to_float((uint32_t)b.bits << 16); }
  HZ_FN bool finite(const Block& b) { return (b.bits & 0x7f80u) != 0x7f80u; }
};

}  // namespace HZ_UNIT
}  // namespace hz::quant
