// SPDX-License-Identifier: Apache-2.0
// SpecialSplit over a trie of the special tokens' texts.
#include "src/text/special_split.hpp"

#include <algorithm>

#include "hanzo/text/utf8.hpp"
#include "src/core/stop_check.hpp"
#include "src/text/normalize.hpp"

namespace hz::text::detail {
namespace {

using Entries = std::vector<std::pair<std::string_view, std::int32_t>>;

// The character that ends at byte `end` > floor; invalid when none begins at `floor` or behind.
Utf8Char char_before(std::string_view text, std::size_t floor, std::size_t end) {
  std::size_t begin = end - 1;
  while (begin > floor && end - begin < 4 && (static_cast<unsigned char>(text[begin]) & 0xC0) == 0x80) --begin;
  const Utf8Char c = decode_utf8(text, begin);
  return begin + c.length == end ? c : Utf8Char{};
}

// The first byte of the white space that ends at byte `end`.
std::size_t space_before(std::string_view text, std::size_t floor, std::size_t end) {
  while (end > floor) {
    const Utf8Char c = char_before(text, floor, end);
    if (!c.valid || !is_space(c.cp)) break;
    end -= c.length;
  }
  return end;
}

std::size_t space_behind(std::string_view text, std::size_t begin) {
  while (begin < text.size()) {
    const Utf8Char c = decode_utf8(text, begin);
    if (!c.valid || !is_space(c.cp)) break;
    begin += c.length;
  }
  return begin;
}

}  // namespace

SpecialSplit::SpecialSplit(const Vocab& vocab) : vocab_(vocab) {
  Entries always, all;
  for (TokenId id = 0; id < vocab.size(); ++id) {
    const Special s = vocab.special[static_cast<std::size_t>(id)];
    if (s == Special::no) continue;
    all.emplace_back(vocab.texts[id], id);
    if (s == Special::always) always.emplace_back(vocab.texts[id], id);
  }
  always_ = ByteTrie(std::move(always));
  all_ = ByteTrie(std::move(all));
}

Affix SpecialSplit::affix(TokenId id) const {
  const auto at = std::lower_bound(vocab_.affixes.begin(), vocab_.affixes.end(), id, [](const auto& a, TokenId b) { return a.first < b; });
  return at != vocab_.affixes.end() && at->first == id ? at->second : Affix{};
}

bool SpecialSplit::fits(std::string_view text, std::size_t begin, std::size_t end, TokenId id, const Ranges& parsed,
                        std::size_t range) const {
  if (vocab_.special[static_cast<std::size_t>(id)] != Special::always &&
      !(range < parsed.size() && parsed[range].begin <= begin && end <= parsed[range].end))
    return false;
  if (vocab_.affixes.empty() || !affix(id).whole_word) return true;
  const auto in_word = [](const Utf8Char& c) { return c.valid && is_word(c.cp); };
  return !(begin > 0 && in_word(char_before(text, 0, begin))) && !(end < text.size() && in_word(decode_utf8(text, end)));
}

std::vector<SpecialSplit::Found> SpecialSplit::find(std::string_view text, const Ranges& parsed) const {
  std::vector<Found> found;
  const ByteTrie& trie = parsed.empty() ? always_ : all_;
  if (trie.empty()) return found;
  std::size_t done = 0;   // everything before is taken
  std::size_t range = 0;  // the range of `parsed` that ends behind the place looked at
  StopCheck check;
  for (std::size_t i = 0; i < text.size();) {
    check();
    if (!trie.begins_key(static_cast<unsigned char>(text[i]))) {
      ++i;
      continue;
    }
    while (range < parsed.size() && parsed[range].end <= i) ++range;
    TokenId best = -1;
    std::size_t best_end = i;
    trie.prefixes(text, i, [&](std::size_t length, std::int32_t id) {
      if (fits(text, i, i + length, id, parsed, range)) best = id, best_end = i + length;
      return true;
    });
    if (best < 0) {
      ++i;
      continue;
    }
    const Affix a = affix(best);
    const std::size_t left = a.strip_left ? space_before(text, done, i) : i;
    const std::size_t right = a.strip_right ? space_behind(text, best_end) : best_end;
    const auto u32 = [](std::size_t v) { return static_cast<std::uint32_t>(v); };
    found.push_back({best, u32(i), u32(best_end), u32(left), u32(right)});
    i = done = right;
  }
  return found;
}

}  // namespace hz::text::detail
