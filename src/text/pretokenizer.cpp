// SPDX-License-Identifier: Apache-2.0
// PreTokenizer: applies cut steps to pieces.
#include "src/text/pretokenizer.hpp"

#include <utf8proc.h>

#include "hanzo/text/utf8.hpp"
#include "src/core/stop_check.hpp"
#include "src/text/normalize.hpp"

namespace hz::text::detail {
namespace {

using Piece = PreTokenizer::Piece;
using Pieces = std::vector<Piece>;

void put(Pieces& out, std::size_t begin, std::size_t end) {
  if (begin < end) out.push_back({static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(end)});
}

bool is_decimal(char32_t cp) {
  if (cp < 0x80) return cp >= '0' && cp <= '9';
  return utf8proc_category(static_cast<utf8proc_int32_t>(cp)) == UTF8PROC_CATEGORY_ND;
}

// digits and word_digits: text is one piece that begins at byte `base` of the whole.
void cut_digits(std::string_view text, std::size_t base, bool isolate, Pieces& out) {
  std::size_t done = 0;
  std::vector<std::size_t> starts;  // of the digits of a run
  StopCheck check;
  for (std::size_t i = 0; i < text.size();) {
    check();
    starts.clear();
    std::size_t end = i;
    Utf8Char c = decode_utf8(text, i);
    while (is_decimal(c.cp)) {
      starts.push_back(end);
      end += c.length;
      if (end >= text.size()) break;
      c = decode_utf8(text, end);
    }
    if (starts.empty()) {
      i += c.length;
      continue;
    }
    i = end;
    if (isolate && end < text.size() && is_word(c.cp)) continue;
    const std::size_t n = starts.size();
    if (isolate) put(out, base + done, base + starts[0]), done = starts[0];
    for (std::size_t k = 0; k < n; ++k)
      if ((n - k) % 3 == 0) put(out, base + done, base + starts[k]), done = starts[k];
    if (isolate) put(out, base + done, base + end), done = end;
  }
  put(out, base + done, base + text.size());
}

void cut_matches(Cut cut, Regex::Matcher& matcher, std::string_view text, std::size_t base, Pieces& out) {
  std::size_t done = 0, from = 0;
  StopCheck check;
  while (from < text.size()) {  // an empty match at the end would cut nothing
    check();
    const auto match = matcher.search(text, from);
    if (!match) break;
    const auto [begin, end] = *match;
    switch (cut) {
      case Cut::isolate:
        put(out, base + done, base + begin), put(out, base + begin, base + end), done = end;
        break;
      case Cut::remove:
        put(out, base + done, base + begin), done = end;
        break;
      case Cut::keep_matches:
        put(out, base + begin, base + end);
        break;
      case Cut::merge_next:
        put(out, base + done, base + begin), done = begin;
        break;
      case Cut::merge_previous:
        put(out, base + done, base + end), done = end;
        break;
      case Cut::contiguous:
        if (begin == done && done > 0 && !out.empty() && out.back().end == base + done)
          out.back().end = static_cast<std::uint32_t>(base + end);
        else
          put(out, base + done, base + begin), put(out, base + begin, base + end);
        done = end;
        break;
      case Cut::digits:
      case Cut::word_digits: break;
    }
    // An empty match cuts where it is; the search goes on behind the next character.
    from = end > begin ? end : (end < text.size() ? end + decode_utf8(text, end).length : text.size());
  }
  if (cut != Cut::keep_matches) put(out, base + done, base + text.size());
}

}  // namespace

PreTokenizer::PreTokenizer(std::span<const CutStep> steps) {
  for (const CutStep& s : steps) {
    const bool has_regex = s.cut != Cut::digits && s.cut != Cut::word_digits;
    steps_.push_back({s.cut, has_regex ? static_cast<int>(regexes_.size()) : -1});
    if (has_regex) regexes_.emplace_back(s.pattern);
  }
}

PreTokenizer::Splitter::Splitter(const PreTokenizer& pre) : pre_(&pre) {
  for (const Regex& r : pre.regexes_) matchers_.emplace_back(r);
}

const std::vector<Piece>& PreTokenizer::Splitter::split(std::string_view text) {
  pieces_.clear();
  put(pieces_, 0, text.size());
  for (std::size_t s = 0; s < pre_->steps_.size(); ++s) apply(s, text);
  return pieces_;
}

void PreTokenizer::Splitter::apply(std::size_t step, std::string_view text) {
  const auto [cut, regex] = pre_->steps_[step];
  next_.clear();
  for (const Piece& p : pieces_) {
    const std::string_view part = text.substr(p.begin, p.end - p.begin);
    if (regex < 0)
      cut_digits(part, p.begin, cut == Cut::word_digits, next_);
    else
      cut_matches(cut, matchers_[static_cast<std::size_t>(regex)], part, p.begin, next_);
  }
  pieces_.swap(next_);
}

}  // namespace hz::text::detail
