// SPDX-License-Identifier: Apache-2.0
// F32: a copy.
#include "hanzo/quant/format/f32.h"
#include "src/quant/encode/common.hpp"

namespace hz::quant {

void encode_f32(const float* x, std::int64_t n, const EncodeOptions&, std::byte* out) {
  each_block<f32>(x, n, out, [](const float* v, f32::Block& b) { b.bits = std::bit_cast<std::uint32_t>(*v); });
}
}  // namespace hz::quant
