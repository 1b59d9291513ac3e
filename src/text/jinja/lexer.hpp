// SPDX-License-Identifier: Apache-2.0
// Lexer: template text to tokens, with trim_blocks and lstrip_blocks.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "src/text/jinja/heap.hpp"

namespace hz::text::jinja {

struct Token {
  enum class Type : std::uint8_t { data, variable_begin, variable_end, block_begin, block_end, name, string, integer, real, op, end };
  Type type;
  std::uint32_t line;
  std::string text;  // data: the text; string: unescaped; numbers: digits without "_"; op: the operator
};

// A template that does not parse.
struct SyntaxFault {
  std::string what;
  std::uint32_t line;
  ErrorKind kind = ErrorKind::bad_file;
  std::string hint = {};
};

// Throws SyntaxFault. `source` is valid UTF-8.
std::vector<Token> tokenize(std::string_view source);

// For messages: "end of print statement", "'endfor'".
std::string describe(const Token& token);

}  // namespace hz::text::jinja
