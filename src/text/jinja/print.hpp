// SPDX-License-Identifier: Apache-2.0
// str(), repr() and json.dumps() of values.
#pragma once
#include <string>

#include "src/text/jinja/builder.hpp"

namespace hz::text::jinja {

// str(v); a string is returned as it is, Markup kept.
Value to_str(Heap& heap, const Value& v);
// Appends str(v) or repr(v).
void print_str(Heap& heap, Builder& out, const Value& v);
void print_repr(Heap& heap, Builder& out, const Value& v);
// repr as plain text, for messages: at most `limit` bytes.
std::string repr_text(Heap& heap, const Value& v, std::size_t limit = 80);
// What jinja's UndefinedError would say about an undefined value.
std::string undefined_message(const Value& v);
// "dict object", "None": jinja's name of an object's type.
std::string object_name(Kind kind);

struct JsonStyle {
  bool ensure_ascii = false;
  bool indented = false;
  std::string indent;  // of one level
  std::string item_separator = ", ", key_separator = ": ";
  bool sort_keys = false;
};
// json.dumps(v); throws Fault for what JSON cannot hold.
Value to_json(Heap& heap, const Value& v, const JsonStyle& style);

}  // namespace hz::text::jinja
