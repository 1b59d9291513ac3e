// SPDX-License-Identifier: Apache-2.0
// IQ2_S: least squared error over scales and codes; src/quant/search has the search.
#include "src/quant/search/table.hpp"

namespace hz::quant {
void encode_iq2_s(const float* x, std::int64_t n, const EncodeOptions& options, std::byte* out) {
  search_table().iq2_s(x, n, options, out);
}
}  // namespace hz::quant
