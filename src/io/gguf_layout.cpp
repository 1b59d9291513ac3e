// SPDX-License-Identifier: Apache-2.0
// The table of element types and the rules for keys and names.
#include "src/io/gguf_layout.hpp"

#include <algorithm>

#include "hanzo/quant/wtype.hpp"
#include "src/io/message.hpp"

namespace hz::io::layout {
namespace {

struct PlainType {
  std::uint32_t id;
  std::string_view name;
  std::uint64_t bytes;
  std::optional<DType> dtype;
};
// Number types that files carry beside weights (id tables, counts). No product takes them.
constexpr PlainType kPlain[] = {{24, "I8", 1, DType::i8},
                                {25, "I16", 2, std::nullopt},
                                {26, "I32", 4, DType::i32},
                                {27, "I64", 8, DType::i64},
                                {28, "F64", 8, std::nullopt}};

std::optional<DType> dense_type(std::string_view name) {
  for (const DType t : {DType::f32, DType::f16, DType::bf16})
    if (name_of(t) == name) return t;
  return std::nullopt;
}

std::string text_fault(std::string_view text, std::string_view what, std::uint64_t limit) {
  const std::string subject(what);
  if (text.empty()) return subject + " is empty";
  if (text.size() > limit) return subject + " is " + grouped(text.size()) + " bytes long, at most " + grouped(limit) + " are allowed";
  if (std::any_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }))
    return subject + " contains a control character";
  return valid_utf8(text) ? "" : subject + " is not UTF-8";
}

}  // namespace

std::optional<ElementLayout> element_layout(std::uint32_t type_id) {
  if (const auto type = quant::from_id(type_id)) {
    const quant::FormatInfo& f = quant::info(*type);
    return ElementLayout{f.name, static_cast<std::uint64_t>(f.block_elems), f.block_bytes, true, dense_type(f.name)};
  }
  for (const PlainType& p : kPlain)
    if (p.id == type_id) return ElementLayout{p.name, 1, p.bytes, false, p.dtype};
  return std::nullopt;
}

std::string key_fault(std::string_view key) { return text_fault(key, "the key", kMaxKeyBytes); }
std::string name_fault(std::string_view name) { return text_fault(name, "the tensor name", kMaxNameBytes); }

}  // namespace hz::io::layout
