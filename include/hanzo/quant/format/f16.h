// SPDX-License-Identifier: Apache-2.0
// F16: IEEE binary16, one weight a block.
#pragma once
#include "hanzo/quant/format/portable.h"

namespace hz::quant {
inline namespace HZ_UNIT {

struct f16 {
  struct Block {
    uint16_t bits;
  };
  static_assert(sizeof(Block) == 2);
  static constexpr int kElems = 1;
  static constexpr bool kFloating = true, kWeight = true;

  HZ_FN float value(Block b) { return half_value(b.bits); }
  HZ_FN bool finite(const Block& b) { return half_finite(b.bits); }
};

}  // namespace HZ_UNIT
}  // namespace hz::quant
