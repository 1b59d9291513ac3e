// SPDX-License-Identifier: Apache-2.0
// Regular expressions of JSON Schema (ECMA-262), as grammar expressions over the text of a JSON string.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "src/engine/schema/json_rules.hpp"

namespace hz::engine {

struct Pattern {
  ExprId content;              // what stands between the quotation marks
  std::int64_t least, most;    // characters that a match has; most is -1 without bound
};

// Groups, named or not; | * + ? {m,n} also lazy; . and classes with \d \w \s; escapes; ^ and $ at the ends of the
// alternatives. Without them the pattern may match anywhere, as the standard says. Throws Error(unsupported) for
// look-around, back references, \b, \p and anchors elsewhere, Error(usage) for bad syntax, both naming `where`.
Pattern parse_pattern(JsonRules& json, std::string_view regex, const std::string& where);

// The expression of a named format, as a regular expression; empty if it is not known.
std::string_view format_pattern(std::string_view name);
std::string known_formats();  // separated by commas

}  // namespace hz::engine
