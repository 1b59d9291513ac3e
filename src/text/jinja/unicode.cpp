// SPDX-License-Identifier: Apache-2.0
#include "src/text/jinja/unicode.hpp"

#include <utf8proc.h>

#include <algorithm>
#include <iterator>

#include "hanzo/text/utf8.hpp"
#include "src/text/jinja/unicode_tables.hpp"

namespace hz::text::jinja {

namespace {

unsigned byte(std::string_view s, std::size_t i) { return static_cast<unsigned char>(s[i]); }

utf8proc_category_t category(char32_t c) { return utf8proc_category(static_cast<utf8proc_int32_t>(c)); }

template <std::size_t N>
bool in_ranges(const CodeRange (&table)[N], char32_t c) {
  const auto* it = std::upper_bound(std::begin(table), std::end(table), c, [](char32_t v, const CodeRange& r) { return v < r.first; });
  return it != std::begin(table) && c <= std::prev(it)->last;
}

bool case_ignorable(char32_t c) {
  switch (category(c)) {
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_ME:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_SK: return true;
    default: return c == U'\'' || c == U'.' || c == U':' || c == U'\u00b7' || c == U'\u2019' || c == U'\u2018';
  }
}

bool cased(char32_t c) { return is_upper(c) || is_lower(c) || is_title(c); }

}  // namespace

char32_t decode(std::string_view text, std::size_t& at) {
  const unsigned lead = byte(text, at++);
  if (lead < 0x80) return lead;
  const std::size_t n = lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
  char32_t c = n == 2 ? lead & 0x1fU : n == 3 ? lead & 0x0fU : lead & 0x07U;
  for (std::size_t k = 1; k < n && at < text.size(); ++k) c = c << 6U | (byte(text, at++) & 0x3fU);
  return c;
}

void step_back(std::string_view text, std::size_t& at) {
  do --at;
  while (at > 0 && (byte(text, at) & 0xc0U) == 0x80U);
}

void encode(char32_t c, std::string& out) { append_utf8(out, c); }

std::string encode(char32_t c) {
  std::string r;
  encode(c, r);
  return r;
}

bool is_space(char32_t c) {
  if (c < 0x80) return (c >= 9 && c <= 13) || (c >= 0x1c && c <= 0x20);
  return c == 0x85 || c == 0xa0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200a) || c == 0x2028 || c == 0x2029 || c == 0x202f ||
         c == 0x205f || c == 0x3000;
}

bool is_line_end(char32_t c) { return (c >= 10 && c <= 13) || (c >= 0x1c && c <= 0x1e) || c == 0x85 || c == 0x2028 || c == 0x2029; }

bool is_alpha(char32_t c) {
  if (c < 0x80) return (c | 0x20U) >= 'a' && (c | 0x20U) <= 'z';
  const auto k = category(c);
  return k >= UTF8PROC_CATEGORY_LU && k <= UTF8PROC_CATEGORY_LO;
}

bool is_decimal(char32_t c) {
  if (c < 0x80) return c >= '0' && c <= '9';
  return category(c) == UTF8PROC_CATEGORY_ND;
}

bool is_digit(char32_t c) { return is_decimal(c) || in_ranges(kDigits, c); }

bool is_numeric(char32_t c) {
  if (is_decimal(c) || in_ranges(kNumerals, c)) return true;
  const auto k = category(c);
  return k == UTF8PROC_CATEGORY_NL || k == UTF8PROC_CATEGORY_NO;
}

bool is_upper(char32_t c) {
  if (c < 0x80) return c >= 'A' && c <= 'Z';
  return category(c) == UTF8PROC_CATEGORY_LU || in_ranges(kOtherUpper, c);
}

bool is_lower(char32_t c) {
  if (c < 0x80) return c >= 'a' && c <= 'z';
  return category(c) == UTF8PROC_CATEGORY_LL || in_ranges(kOtherLower, c);
}

bool is_title(char32_t c) { return c >= 0x80 && category(c) == UTF8PROC_CATEGORY_LT; }

bool is_printable(char32_t c) {
  if (c < 0x80) return c >= 0x20 && c != 0x7f;
  switch (category(c)) {
    case UTF8PROC_CATEGORY_CC:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_CS:
    case UTF8PROC_CATEGORY_CO:
    case UTF8PROC_CATEGORY_CN:
    case UTF8PROC_CATEGORY_ZL:
    case UTF8PROC_CATEGORY_ZP:
    case UTF8PROC_CATEGORY_ZS: return false;
    default: return true;
  }
}

bool is_word_start(char32_t c) { return is_alpha(c) || c == '_' || (c >= 0x80 && category(c) == UTF8PROC_CATEGORY_NL); }

bool is_word(char32_t c) {
  if (is_word_start(c) || is_decimal(c)) return true;
  if (c < 0x80) return false;
  const auto k = category(c);
  return k == UTF8PROC_CATEGORY_MN || k == UTF8PROC_CATEGORY_MC || k == UTF8PROC_CATEGORY_PC || c == 0xb7;
}

int digit_value(char32_t c) {
  if (c >= '0' && c <= '9') return static_cast<int>(c - '0');
  // Decimal digits come in runs of ten that start at a multiple of ten from their zero.
  char32_t zero = c;
  while (is_decimal(zero - 1) && c - zero < 9) --zero;
  return static_cast<int>(c - zero);
}

void map_case(Case to, char32_t c, std::string& out) {
  if (c < 0x80) {
    const bool upper = to == Case::upper || to == Case::title;
    if (upper && c >= 'a' && c <= 'z') c -= 0x20;
    if (!upper && c >= 'A' && c <= 'Z') c += 0x20;
    out.push_back(static_cast<char>(c));
    return;
  }
  const auto table = [&](const auto& rows) {
    const auto* it = std::lower_bound(std::begin(rows), std::end(rows), c, [](const CaseRow& r, char32_t v) { return r.from < v; });
    if (it == std::end(rows) || it->from != c) return false;
    for (const char32_t part : it->to) {
      if (part != 0) encode(part, out);
    }
    return true;
  };
  const auto code = static_cast<utf8proc_int32_t>(c);
  switch (to) {
    case Case::upper:
      if (!table(kUpper)) encode(static_cast<char32_t>(utf8proc_toupper(code)), out);
      return;
    case Case::title:
      if (!table(kTitle)) encode(static_cast<char32_t>(utf8proc_totitle(code)), out);
      return;
    case Case::lower:
      if (c == 0x130) out += "i\xcc\x87";
      else encode(static_cast<char32_t>(utf8proc_tolower(code)), out);
      return;
    case Case::fold: {
      utf8proc_int32_t buffer[4];
      int boundary = 0;
      const auto n = utf8proc_decompose_char(code, buffer, 4, UTF8PROC_CASEFOLD, &boundary);
      for (utf8proc_ssize_t i = 0; i < n; ++i) encode(static_cast<char32_t>(buffer[i]), out);
      return;
    }
  }
}

bool is_final_sigma(std::string_view text, std::size_t at, std::size_t end) {
  std::size_t i = at;
  bool before = false;
  while (i > 0) {
    step_back(text, i);
    std::size_t next = i;
    const char32_t c = decode(text, next);
    if (case_ignorable(c)) continue;
    before = cased(c);
    break;
  }
  if (!before) return false;
  for (i = end; i < text.size();) {
    const char32_t c = decode(text, i);
    if (!case_ignorable(c)) return !cased(c);
  }
  return true;
}

}  // namespace hz::text::jinja
