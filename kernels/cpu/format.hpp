// SPDX-License-Identifier: Apache-2.0
// FormatKernels: what one weight format offers in one instruction set. Made from the format's description
// alone (kernels/cpu/format_unit.cpp.in); no kernel is written for a format.
#pragma once
#include "kernels/cpu/table.hpp"

namespace hz::cpu {

struct FormatKernels {
  bool floating;
  int block;           // weights of a GGUF block
  int step;            // weights per fma: 32, or 16
  int low;             // value of code 0 in an expanded panel
  std::int64_t packed_unit;    // weights per packed block along k; 0: the format has no packed form
  bool expanded;               // panels take more bytes than the rows in the file (codebook formats)
  std::size_t packed_bytes;    // of sixteen rows and packed_unit weights

  // Sixteen rows of GGUF bytes (fewer at the edge: the rest is zero) to the packed panel and back; unpack is null where
  // the form is expanded.
  void (*pack)(const std::byte* rows, std::size_t stride, int count, std::int64_t k, std::byte* panel);
  void (*unpack)(const std::byte* panel, int count, std::int64_t k, std::byte* rows, std::size_t stride);
  // Columns [k0, k1) of sixteen rows, from GGUF bytes or from the packed panel, as an integer panel.
  void (*expand)(const std::byte* rows, std::size_t stride, int count, std::int64_t k0, std::int64_t k1, IntPanel& out);
  void (*expand_packed)(const std::byte* panel, std::int64_t k0, std::int64_t k1, IntPanel& out);
  // The same as floats [k1 - k0][16], decoded (multiply and add rounded apart).
  void (*expand_float)(const std::byte* rows, std::size_t stride, int count, std::int64_t k0, std::int64_t k1, float* out);
  void (*expand_float_packed)(const std::byte* panel, std::int64_t k0, std::int64_t k1, float* out);
  // Columns [k0, k1) of one row of GGUF bytes, decoded; whole blocks.
  void (*decode_row)(const std::byte* row, std::int64_t k0, std::int64_t k1, float* out);
  // Activations of whole tiles of act_tokens tokens, fewer at the end, packed for `tile`: act_bytes for each token and 32 columns.
  int act_tokens;
  std::size_t act_bytes;
  void (*pack_acts)(const ActRow* x, int tokens, std::int64_t groups, std::byte* out);
  // The integer product of an expanded panel, which begins at column 32 * first_group, with packed activations of `groups` times 32
  // columns; the format's own bounds are known at compile time.
  void (*tile)(const IntPanel& panel, const std::byte* acts, std::int64_t groups, std::int64_t first_group, int tokens, float* const* y,
               bool carry);
  // Few tokens straight from the packed panel: y[t] [16].
  void (*matvec_packed)(const std::byte* panel, std::int64_t k, const ActRow* x, int tokens, float* const* y);
  // The same of at most packed_tile_tokens tokens, packed by pack_acts: faster than to expand and to use the panel once.
  int packed_tile_tokens;
  void (*packed_tile)(const std::byte* panel, std::int64_t k, const std::byte* acts, int tokens, float* const* y);
  // Float formats: one token against `panels` consecutive packed panels; y [panels * 16].
  void (*float_matvec)(const std::byte* first, std::size_t panel_bytes, int panels, std::int64_t k, const float* x, float* y);
  // Few tokens straight from GGUF bytes: y[t][row] for `count` rows.
  void (*matvec_rows)(const std::byte* rows, std::size_t stride, std::int64_t count, std::int64_t k, const ActRow* x, int tokens,
                      float* const* y);
};

}  // namespace hz::cpu
