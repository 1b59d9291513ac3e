// SPDX-License-Identifier: Apache-2.0
// Checked access to the JSON files of Hugging Face tokenizers.
#pragma once
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "hanzo/core/error.hpp"

namespace hz::text::hf {

using nlohmann::json;

// A value with its place in the file, for messages. Refers to the document, which must outlive it.
class Node {
 public:
  Node(const json* value, std::string path, const std::string& source) : value_(value), path_(std::move(path)), source_(&source) {}

  // Also for values that are absent: a null node.
  Node operator[](const char* key) const;
  bool present() const { return value_ != nullptr && !value_->is_null(); }
  const json& value() const { return *value_; }
  const std::string& path() const { return path_; }
  const std::string& source() const { return *source_; }
  std::size_t size() const { return present() && value_->is_array() ? value_->size() : 0; }
  Node at(std::size_t i) const;  // of an array

  // The value as a kind of thing; a missing one gives the fallback, or an error without one.
  std::string text() const;
  std::string text(std::string fallback) const { return present() ? text() : fallback; }
  bool flag(bool fallback) const;
  std::int64_t integer() const;

  [[noreturn]] void bad(const std::string& what) const;          // Error(bad_file)
  [[noreturn]] void unsupported(const std::string& what) const;  // Error(unsupported)

 private:
  const json* value_;
  std::string path_;
  const std::string* source_;
};

// Parses a file; Error(bad_file) when it is not JSON or is nested deeper than 128.
json parse(std::string_view text, const std::string& source);

}  // namespace hz::text::hf
