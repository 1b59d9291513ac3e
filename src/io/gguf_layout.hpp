// SPDX-License-Identifier: Apache-2.0
// GGUF layout: the constants of the format and the limits we set, for reader and writer alike.
// Source: the GGUF specification (ggml project, docs/gguf.md), versions 2 and 3.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "hanzo/core/checked.hpp"
#include "hanzo/core/dtype.hpp"
#include "hanzo/io/metadata.hpp"

namespace hz::io::layout {

constexpr std::string_view kMagic = "GGUF";
constexpr std::uint64_t kFixedBytes = 24;  // magic, u32 version, u64 tensors, u64 keys
constexpr std::uint32_t kDefaultAlignment = 32;
constexpr std::string_view kAlignmentKey = "general.alignment";
constexpr std::uint64_t kMaxDims = 4;
constexpr std::uint64_t kMaxNesting = 64;          // arrays within arrays
constexpr std::uint64_t kMaxKeyBytes = 65535;      // of the specification
constexpr std::uint64_t kMaxNameBytes = 64;        // of the specification
constexpr std::uint64_t kMaxEntries = 1u << 18;    // keys, and tensors: far above any real file
constexpr std::uint64_t kMaxHeader = 256u << 20;   // bytes of metadata and tensor infos, in the file and in memory
constexpr std::uint64_t kLeastKeyBytes = 14;       // u64 length, 1 byte, u32 type, 1 byte of value
constexpr std::uint64_t kLeastInfoBytes = 25;      // u64 length, 1 byte, u32 dims, u32 type, u64 offset

// Bytes of one value in the file: the least, for strings (their length) and arrays (element type and count).
constexpr std::uint64_t least_bytes(ValueType t) {
  constexpr std::uint8_t bytes[] = {1, 1, 2, 2, 4, 4, 4, 1, 8, 12, 8, 8, 8};
  return bytes[static_cast<std::size_t>(t)];
}
constexpr bool known_value_type(std::uint32_t t) { return t <= static_cast<std::uint32_t>(ValueType::f64); }
constexpr bool legal_alignment(std::uint64_t a) { return a >= 8 && (a & (a - 1)) == 0; }

// How the elements of one tensor type are stored: weight formats from the list, and the plain number types.
struct ElementLayout {
  std::string_view name;
  std::uint64_t block_elems = 1;
  std::uint64_t block_bytes = 0;
  bool weight = false;
  std::optional<DType> dtype;  // of a dense Tensor with the same bytes
};
std::optional<ElementLayout> element_layout(std::uint32_t type_id);

// What is wrong with a key or a tensor name, or empty when it is legal.
std::string key_fault(std::string_view key);
std::string name_fault(std::string_view name);

}  // namespace hz::io::layout
