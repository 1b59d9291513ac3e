// SPDX-License-Identifier: Apache-2.0
// SpecialSplit: finds special tokens in a text before the algorithm sees the rest.
#pragma once
#include <span>
#include <string_view>
#include <vector>

#include "src/text/algorithm.hpp"
#include "src/text/byte_trie.hpp"

namespace hz::text::detail {

class SpecialSplit {
 public:
  explicit SpecialSplit(const Vocab& vocab);

  // Parts of the input where control tokens count; ascending, not touching.
  using Ranges = std::vector<Span>;

  struct Found {
    TokenId id;
    std::uint32_t begin, end;    // of the token
    std::uint32_t left, right;   // and of the white space that it swallows
  };
  // All special tokens, leftmost first and the longest at each place; a control token must lie inside one range.
  std::vector<Found> find(std::string_view text, const Ranges& parsed) const;

 private:
  Affix affix(TokenId id) const;
  bool fits(std::string_view text, std::size_t begin, std::size_t end, TokenId id, const Ranges& parsed, std::size_t range) const;

  const Vocab& vocab_;
  ByteTrie always_, all_;  // user-defined tokens; these and control tokens
};

}  // namespace hz::text::detail
