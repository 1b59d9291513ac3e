// SPDX-License-Identifier: Apache-2.0
// Q4_0: as ggml's reference encoder, byte for byte; with importance or a thorough search by least squared error.
#include "hanzo/quant/format/q4_0.h"
#include "src/quant/encode/legacy.hpp"

namespace hz::quant {

void encode_q4_0(const float* x, std::int64_t n, const EncodeOptions& options, std::byte* out) {
  if (searches(options)) return search_table().q4_0(x, n, options, out);
  each_block<q4_0>(x, n, out, [](const float* v, q4_0::Block& b) {
    encode_symmetric(v, 8, b);
  });
}
}  // namespace hz::quant
