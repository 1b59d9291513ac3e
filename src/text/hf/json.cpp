// SPDX-License-Identifier: Apache-2.0
// Checked access to JSON.
#include "src/text/hf/json.hpp"

#include <fmt/format.h>

#include "src/io/message.hpp"

namespace hz::text::hf {
namespace {

constexpr int kMaxDepth = 128;

int depth_of(std::string_view text) {
  int depth = 0, deepest = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') ++i;
      if (c == '"') in_string = false;
    } else if (c == '"') {
      in_string = true;
    } else if (c == '[' || c == '{') {
      deepest = std::max(deepest, ++depth);
    } else if (c == ']' || c == '}') {
      --depth;
    }
  }
  return deepest;
}

}  // namespace

json parse(std::string_view text, const std::string& source) {
  if (const int depth = depth_of(text); depth > kMaxDepth)
    throw Error(ErrorKind::bad_file, fmt::format("the JSON is nested {} deep, more than {}", depth, kMaxDepth), source);
  try {
    return json::parse(text);
  } catch (const json::exception& e) {
    throw Error(ErrorKind::bad_file, "this is not JSON: " + io::json_reason(e.what(), true), source,
                "get the file again; it is written by the tokenizers library");
  }
}

Node Node::operator[](const char* key) const {
  const std::string path = path_.empty() ? key : path_ + "." + key;
  if (!present() || !value_->is_object()) return {nullptr, path, *source_};
  const auto found = value_->find(key);
  return {found == value_->end() ? nullptr : &*found, path, *source_};
}

Node Node::at(std::size_t i) const { return {&(*value_)[i], fmt::format("{}[{}]", path_, i), *source_}; }

std::string Node::text() const {
  if (!present() || !value_->is_string()) bad("is not a string");
  return value_->get<std::string>();
}

bool Node::flag(bool fallback) const {
  if (!present()) return fallback;
  if (!value_->is_boolean()) bad("is neither true nor false");
  return value_->get<bool>();
}

std::int64_t Node::integer() const {
  if (!present() || !value_->is_number_integer()) bad("is not an integer");
  if (value_->is_number_unsigned() && value_->get<std::uint64_t>() > INT64_MAX) bad("is too large");
  return value_->get<std::int64_t>();
}

void Node::bad(const std::string& what) const {
  throw Error(ErrorKind::bad_file, fmt::format("{}: {}", path_.empty() ? "the file" : path_, present() ? what : "is missing"), *source_);
}
void Node::unsupported(const std::string& what) const {
  throw Error(ErrorKind::unsupported, fmt::format("{}: {}", path_.empty() ? "the file" : path_, what), *source_);
}

}  // namespace hz::text::hf
