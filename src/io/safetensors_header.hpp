// SPDX-License-Identifier: Apache-2.0
// The JSON header of a safetensors file, as events: nothing is kept that the visitor does not keep.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hanzo/core/checked.hpp"
#include "hanzo/core/dtype.hpp"

namespace hz::io::safetensors {

constexpr std::uint64_t kLengthBytes = 8;            // u64 header length before the header
constexpr std::uint64_t kMaxHeader = 100'000'000;    // bytes, of the reference
constexpr std::uint64_t kMaxString = 4u << 20;       // bytes of one name or metadata value
constexpr std::uint64_t kMaxEntries = 1u << 18;      // tensors, and metadata entries
constexpr std::size_t kMaxDims = 32;
constexpr int kMaxDepth = 128;
constexpr std::string_view kMetadataKey = "__metadata__";

struct ElementType {
  std::string_view name;
  std::uint64_t bits;
  std::optional<DType> dtype;
};
const ElementType* element_type(std::string_view name);  // null: unknown
std::string_view type_name(DType dtype);

struct Entry {
  std::string_view name;
  const ElementType* type = nullptr;
  std::span<const std::uint64_t> dims;
  std::uint64_t begin = 0, end = 0;  // bytes from the start of the data
};

struct Visitor {
  virtual ~Visitor() = default;
  virtual void tensor(const Entry& entry) = 0;
  virtual void metadata(std::string_view key, std::string_view value) = 0;
};

// Walks the header's text. Each tensor given to the visitor has a known type, and a byte range whose length is
// what type and shape need; ranges and names are not compared with each other. Throws bad_file with `file` as place.
void walk_header(std::string_view text, const std::string& file, Visitor& visitor);

}  // namespace hz::io::safetensors
