// SPDX-License-Identifier: Apache-2.0
// NormChain: the steps that are not Unicode normalisation, and their composition.
#include <utf8proc.h>

#include <algorithm>

#include "hanzo/text/utf8.hpp"
#include "src/text/normalize.hpp"

namespace hz::text::detail {
namespace {

using Kind = NormStep::Kind;

int category(char32_t cp) { return utf8proc_category(static_cast<utf8proc_int32_t>(cp)); }

bool is_ascii(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

// The ranges that BERT calls Chinese characters (as Hugging Face's tokenizers have them).
bool is_han(char32_t cp) {
  constexpr std::pair<char32_t, char32_t> kRanges[] = {{0x4E00, 0x9FFF},   {0x3400, 0x4DBF},   {0x20000, 0x2A6DF}, {0x2A700, 0x2B73F},
                                                       {0x2B740, 0x2B81F}, {0x2B920, 0x2CEAF}, {0xF900, 0xFAFF},   {0x2F800, 0x2FA1F}};
  return std::any_of(std::begin(kRanges), std::end(kRanges), [&](auto r) { return cp >= r.first && cp <= r.second; });
}

// Calls edit(char, its bytes, begin) for each character; edit appends what becomes of it.
template <class F>
void each_char(std::string_view text, F&& edit) {
  for (std::size_t i = 0; i < text.size();) {
    const Utf8Char c = decode_utf8(text, i);
    edit(c, text.substr(i, c.length), i);
    i += c.length;
  }
}

void lowercase(std::string_view text, AlignedText& out) {
  std::string bytes;
  each_char(text, [&](const Utf8Char& c, std::string_view raw, std::size_t begin) {
    if (c.cp == 0x130) return out.replace("i\xCC\x87", begin, begin + raw.size());  // the only one that becomes two
    const auto lower = static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(c.cp)));
    if (!c.valid || lower == c.cp) return out.copy(raw, begin);
    bytes.clear();
    append_utf8(bytes, lower);
    out.replace(bytes, begin, begin + raw.size());
  });
}

void strip_accents(std::string_view text, AlignedText& out) {
  each_char(text, [&](const Utf8Char& c, std::string_view raw, std::size_t begin) {
    if (!c.valid || c.cp < 0x300 || category(c.cp) != UTF8PROC_CATEGORY_MN) out.copy(raw, begin);
  });
}

void clean(std::string_view text, AlignedText& out) {
  each_char(text, [&](const Utf8Char& c, std::string_view raw, std::size_t begin) {
    if (!c.valid || c.cp == 0 || c.cp == kReplacement) return;
    const int k = category(c.cp);
    const bool control = k == UTF8PROC_CATEGORY_CC || k == UTF8PROC_CATEGORY_CF || k == UTF8PROC_CATEGORY_CO;
    if (control && c.cp != '\t' && c.cp != '\n' && c.cp != '\r') return;
    if (is_space(c.cp))
      out.replace(" ", begin, begin + raw.size());
    else
      out.copy(raw, begin);
  });
}

void space_han(std::string_view text, AlignedText& out) {
  each_char(text, [&](const Utf8Char& c, std::string_view raw, std::size_t begin) {
    const bool han = is_han(c.cp);
    const std::size_t end = begin + raw.size();
    if (han) out.replace(" ", begin, begin);
    out.copy(raw, begin);
    if (han) out.replace(" ", end, end);
  });
}

void replace(std::string_view text, std::string_view from, std::string_view to, AlignedText& out) {
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t at = std::min(text.find(from, i), text.size());
    out.copy(text.substr(i, at - i), i);
    if (at < text.size()) out.replace(to, at, at + from.size());
    i = at + from.size();
  }
}

void replace_match(std::string_view text, const Regex& pattern, std::string_view to, AlignedText& out) {
  if (!is_valid_utf8(text)) return out.copy(text, 0);
  Regex::Matcher matcher(pattern);
  std::size_t done = 0;
  for (std::size_t from = 0; from <= text.size();) {
    const auto match = matcher.search(text, from);
    if (!match) break;
    const auto [begin, end] = *match;
    out.copy(text.substr(done, begin - done), done);
    out.replace(to, begin, end);
    done = end;
    from = end > begin ? end : (end < text.size() ? end + decode_utf8(text, end).length : text.size() + 1);
  }
  out.copy(text.substr(done), done);
}

void squeeze(std::string_view text, AlignedText& out) {
  bool space_before = true;  // so that leading ones go
  const std::size_t end = text.find_last_not_of(' ') + 1;
  for (std::size_t i = 0; i < end; ++i) {
    const bool space = text[i] == ' ';
    if (!(space && space_before)) out.copy(text.substr(i, 1), i);
    space_before = space;
  }
}

void strip(std::string_view text, bool left, bool right, AlignedText& out) {
  std::size_t begin = 0, end = 0;
  bool started = !left;
  each_char(text, [&](const Utf8Char& c, std::string_view raw, std::size_t at) {
    const bool space = c.valid && is_space(c.cp);
    if (!started && space) begin = at + raw.size();
    started = started || !space;
    if (!space || !right) end = at + raw.size();
  });
  if (begin < end) out.copy(text.substr(begin, end - begin), begin);
}

void map_chars(std::string_view text, const Charsmap& map, AlignedText& out) {
  for (std::size_t i = 0; i < text.size();) {
    if (const auto match = map.find(text, i)) {
      out.replace(match->with, i, i + match->length);
      i += match->length;
      continue;
    }
    const Utf8Char c = decode_utf8(text, i);
    if (c.valid)
      out.copy(text.substr(i, c.length), i);
    else
      out.replace(kReplacementUtf8, i, i + c.length);
    i += c.length;
  }
}

// False when the step cannot change this text.
bool may_change(const NormStep& s, std::string_view text, const Fragment& fragment) {
  switch (s.kind) {
    case Kind::form:
    case Kind::strip_accents:
    case Kind::space_han: return !is_ascii(text);
    case Kind::replace: return !s.from.empty() && text.find(s.from) != std::string_view::npos;
    case Kind::prepend:
      if (text.empty() || (s.when == NormStep::When::first && !fragment.first) ||
          (s.when == NormStep::When::after_special && !fragment.after_special))
        return false;
      return !(s.unless_there && (text.starts_with(s.to) || text.starts_with(' ')));
    default: return true;
  }
}

void run(const NormStep& s, std::string_view text, AlignedText& out) {
  switch (s.kind) {
    case Kind::form: return normalize(text, s.form, out);
    case Kind::lowercase: return lowercase(text, out);
    case Kind::strip_accents: return strip_accents(text, out);
    case Kind::replace: return replace(text, s.from, s.to, out);
    case Kind::replace_match: return replace_match(text, *s.pattern, s.to, out);
    case Kind::prepend: return out.replace(s.to, 0, 0), out.copy(text, 0);
    case Kind::strip: return strip(text, s.left, s.right, out);
    case Kind::squeeze: return squeeze(text, out);
    case Kind::clean: return clean(text, out);
    case Kind::space_han: return space_han(text, out);
    case Kind::charsmap: return map_chars(text, *s.map, out);
  }
}

}  // namespace

std::optional<AlignedText> NormChain::apply(const Fragment& fragment, bool track) const {
  std::optional<AlignedText> current;
  for (const NormStep& s : steps_) {
    const std::string_view text = current ? std::string_view(current->text()) : fragment.text;
    if (!may_change(s, text, fragment)) continue;
    AlignedText next(track);
    next.reserve(text.size());
    run(s, text, next);
    if (current && track) next.rebase(*current);
    current = std::move(next);
  }
  return current;
}

}  // namespace hz::text::detail
