// SPDX-License-Identifier: Apache-2.0
// Q5_1: as ggml's reference encoder, byte for byte; with importance or a thorough search by least squared error.
#include "hanzo/quant/format/q5_1.h"
#include "src/quant/encode/legacy.hpp"

namespace hz::quant {

void encode_q5_1(const float* x, std::int64_t n, const EncodeOptions& options, std::byte* out) {
  if (searches(options)) return search_table().q5_1(x, n, options, out);
  each_block<q5_1>(x, n, out, [](const float* v, q5_1::Block& b) {
    const std::uint32_t fifth = encode_with_minimum(v, 31, b);
    std::memcpy(b.qh, &fifth, sizeof fifth);
  });
}
}  // namespace hz::quant
