// SPDX-License-Identifier: Apache-2.0
// BF16: nearest even; NaN stays NaN.
#include "hanzo/quant/format/bf16.h"
#include "src/quant/encode/common.hpp"

namespace hz::quant {

void encode_bf16(const float* x, std::int64_t n, const EncodeOptions&, std::byte* out) {
  each_block<bf16>(x, n, out, [](const float* v, bf16::Block& b) { b.bits = to_bfloat16(*v).bits; });
}
}  // namespace hz::quant
