// SPDX-License-Identifier: Apache-2.0
// F16: nearest even; beyond 65504 an infinity, which finite() refuses.
#include "hanzo/quant/format/f16.h"
#include "src/quant/encode/common.hpp"

namespace hz::quant {

void encode_f16(const float* x, std::int64_t n, const EncodeOptions&, std::byte* out) {
  each_block<f16>(x, n, out, [](const float* v, f16::Block& b) { b.bits = to_half(*v).bits; });
}
}  // namespace hz::quant
