// SPDX-License-Identifier: Apache-2.0
// IQ1_M: least squared error over scales and codes; src/quant/search has the search.
#include "src/quant/search/table.hpp"

namespace hz::quant {
void encode_iq1_m(const float* x, std::int64_t n, const EncodeOptions& options, std::byte* out) {
  search_table().iq1_m(x, n, options, out);
}
}  // namespace hz::quant
