// SPDX-License-Identifier: Apache-2.0
// WType: the weight formats by GGUF type number, and a table of what each is.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "hanzo/quant/wtype_list.hpp"  // generated from formats.list: HZ_WTYPES(X)

namespace hz {

enum class WType : std::uint32_t {
#define HZ_X(name, id) name = id,
  HZ_WTYPES(HZ_X)
#undef HZ_X
};

namespace quant {

// How long an encoder looks for the least error. normal: as good as the known quantizers, and fast. thorough: better, slow.
enum class Search { normal, thorough };

struct EncodeOptions {
  const float* importance = nullptr;  // one value a column, not negative; null: all alike
  Search search = Search::normal;
};

// Encodes `n` weights (whole blocks of one row) into `out`. Bytes depend on the weights and options alone.
using Encoder = void (*)(const float* x, std::int64_t n, const EncodeOptions& options, std::byte* out);

struct FormatInfo {
  WType type;
  std::string_view name;     // upper case, as peers print it: "Q4_K"
  int block_elems;           // weights per block
  std::size_t block_bytes;
  bool floating;             // F32 F16 BF16
  bool weight;               // may be chosen as a weight type
  Encoder encoder;           // null while not built
  double bits() const { return 8.0 * static_cast<double>(block_bytes) / block_elems; }
};

std::span<const FormatInfo> formats();                       // in the order of the list
const FormatInfo& info(WType type);                          // throws usage for a number not in the list
std::optional<WType> from_id(std::uint32_t gguf_type);       // nullopt: no such format here
std::optional<WType> from_name(std::string_view name);       // any case
// Bytes of a row of `n` weights; throws usage when blocks do not divide it.
std::size_t row_bytes(WType type, std::int64_t n);
// The formats whose names are nearest to a mistyped one, for messages.
std::string near_names(std::string_view name);

}  // namespace quant

inline std::string_view name_of(WType t) { return quant::info(t).name; }

}  // namespace hz
