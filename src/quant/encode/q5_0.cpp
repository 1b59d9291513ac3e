// SPDX-License-Identifier: Apache-2.0
// Q5_0: as ggml's reference encoder, byte for byte; with importance or a thorough search by least squared error.
#include "hanzo/quant/format/q5_0.h"
#include "src/quant/encode/legacy.hpp"

namespace hz::quant {

void encode_q5_0(const float* x, std::int64_t n, const EncodeOptions& options, std::byte* out) {
  if (searches(options)) return search_table().q5_0(x, n, options, out);
  each_block<q5_0>(x, n, out, [](const float* v, q5_0::Block& b) {
    const std::uint32_t fifth = encode_symmetric(v, 16, b);
    std::memcpy(b.qh, &fifth, sizeof fifth);
  });
}
}  // namespace hz::quant
