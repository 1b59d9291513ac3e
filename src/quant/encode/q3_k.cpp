// SPDX-License-Identifier: Apache-2.0
// Q3_K: least squared error over scales and codes; src/quant/search has the search.
#include "src/quant/search/table.hpp"

namespace hz::quant {
void encode_q3_k(const float* x, std::int64_t n, const EncodeOptions& options, std::byte* out) { search_table().q3_k(x, n, options, out); }
}  // namespace hz::quant
