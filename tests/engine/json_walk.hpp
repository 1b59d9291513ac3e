// SPDX-License-Identifier: Apache-2.0
// Random JSON texts under a grammar, drawn token by token through its masks.
#pragma once
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "hanzo/engine/grammar.hpp"
#include "tests/engine/tables.hpp"

namespace hz::test {

// Bytes and tokens as models have them: they span the borders of JSON's parts, and split characters.
inline std::shared_ptr<const TokenTable> json_table() {
  return byte_table({"{\"",  "\":", "\": ", "\": \"", "\",",   "\", \"", "\"}", "\"]",   "\n",    "\n  ", "},",   "}]",       "]}",
                     "[{",   "[[",  "[\"",  "true",   "false", "null",   "tr",  "name",  "age",   "id",   "na",   "me",       "the",
                     " the", "12",  "100",  "0.",     "1.5",   "e+1",    "\\n", "\\u00", "\\u",   "é",    "日本", "\xF0\x9F", "\x98\x80",
                     "2024", "-0",  "-01-", "aa",     "bb",    "ab",     "x\"", "kind",  "value", "left", ", \"", ",\n"});
}

// Throws std::runtime_error when the text does not end: a mask that leads nowhere.
inline std::string random_text(const GrammarState& start, std::mt19937& random) {
  GrammarState state = start;
  const TokenTable& table = state.table();
  std::vector<std::uint64_t> bits((static_cast<std::size_t>(table.size()) + 63) / 64);
  std::string text;
  for (int step = 0; step < 5000; ++step) {
    state.mask(bits);
    std::vector<std::int32_t> allowed, closing;
    bool end = false;
    for (std::int32_t id = 0; id < table.size(); ++id) {
      if (((bits[static_cast<std::size_t>(id) / 64] >> (id % 64)) & 1) == 0) continue;
      if (table.is_end(id)) {
        end = true;
        continue;
      }
      const std::string_view piece = table.piece(id);
      // Every token of several bytes is worth many single bytes, or texts would be noise alone.
      for (int n = piece.size() > 1 ? 12 : 1; n > 0; --n) allowed.push_back(id);
      if (piece == "\"" || piece == "}" || piece == "]" || piece == "\"}") closing.push_back(id);
    }
    if (end && (allowed.empty() || random() % 3 == 0 || step > 60)) return text;
    const bool close = !closing.empty() && random() % 10 < (step > 40 ? 9u : 2u);
    const std::int32_t id = close ? closing[random() % closing.size()] : allowed[random() % allowed.size()];
    if (!state.accept(id)) throw std::runtime_error("a token that the mask allows is refused");
    text += table.piece(id);
  }
  throw std::runtime_error("no end after: " + text.substr(0, 300));
}

}  // namespace hz::test
