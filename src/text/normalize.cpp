// SPDX-License-Identifier: Apache-2.0
// Unicode normalisation cluster by cluster: a base character with its marks, over utf8proc's tables.
#include "src/text/normalize.hpp"

#include <utf8proc.h>

#include <algorithm>
#include <vector>

#include "hanzo/text/utf8.hpp"

namespace hz::text::detail {
namespace {

// No character up to here changes under NFC or NFD or combines with one before it.
constexpr char32_t kFirstChange = 0xC0;

// Whether cp may combine with, or be reordered among, what stands before it.
bool continues_cluster(char32_t cp) {
  if (cp < 0x300) return false;
  if ((cp >= 0x1160 && cp <= 0x11FF) || (cp >= 0xD7B0 && cp <= 0xD7FF)) return true;  // Hangul vowels and finals
  if (cp >= 0x16D63 && cp <= 0x16D6A) return true;                                  // Kirat Rai vowels
  // Characters whose compatibility decomposition combines: Hangul letters, half-width forms of those and of marks.
  if ((cp >= 0x3131 && cp <= 0x318E) || (cp >= 0xFF9E && cp <= 0xFFDC)) return true;
  switch (utf8proc_category(static_cast<utf8proc_int32_t>(cp))) {
    case UTF8PROC_CATEGORY_MN: case UTF8PROC_CATEGORY_MC: case UTF8PROC_CATEGORY_ME: return true;
    default: return false;
  }
}

int combining_class(utf8proc_int32_t cp) { return utf8proc_get_property(cp)->combining_class; }

class Normalizer {
 public:
  Normalizer(Form form, AlignedText& out) : out_(out) {
    const bool compat = form == Form::nfkc || form == Form::nfkd;
    compose_ = form == Form::nfc || form == Form::nfkc;
    options_ = static_cast<utf8proc_option_t>(UTF8PROC_DECOMPOSE | (compat ? UTF8PROC_COMPAT : 0));
  }

  // One base character with its marks, bytes [begin, begin + text.size()) of the input.
  void cluster(std::string_view text, std::size_t begin) {
    points_.clear();
    for (std::size_t i = 0; i < text.size();) {
      const Utf8Char c = decode_utf8(text, i);
      i += c.length;
      decompose(static_cast<utf8proc_int32_t>(c.cp));
    }
    order();
    if (compose_) {
      const auto n = utf8proc_normalize_utf32(points_.data(), static_cast<utf8proc_ssize_t>(points_.size()),
                                              static_cast<utf8proc_option_t>(UTF8PROC_COMPOSE | UTF8PROC_STABLE));
      if (n > 0) points_.resize(static_cast<std::size_t>(n));
    }
    bytes_.clear();
    for (const utf8proc_int32_t p : points_) append_utf8(bytes_, static_cast<char32_t>(p));
    if (bytes_ == text)
      out_.copy(text, begin);
    else
      out_.replace(bytes_, begin, begin + text.size());
  }

 private:
  void decompose(utf8proc_int32_t cp) {
    utf8proc_int32_t buffer[32];  // the longest decomposition has 18 characters
    int boundary = 0;
    const auto n = utf8proc_decompose_char(cp, buffer, 32, options_, &boundary);
    if (n < 0 || n > 32)
      points_.push_back(cp);
    else
      points_.insert(points_.end(), buffer, buffer + n);
  }
  // The canonical order: marks between bases sorted by class, equal ones in place.
  void order() {
    for (std::size_t i = 0; i < points_.size();) {
      std::size_t j = i;
      while (j < points_.size() && combining_class(points_[j]) != 0) ++j;
      if (j > i + 1)
        std::stable_sort(points_.begin() + static_cast<std::ptrdiff_t>(i), points_.begin() + static_cast<std::ptrdiff_t>(j),
                         [](auto a, auto b) { return combining_class(a) < combining_class(b); });
      i = j + 1;
    }
  }

  AlignedText& out_;
  bool compose_ = false;
  utf8proc_option_t options_{};
  std::vector<utf8proc_int32_t> points_;
  std::string bytes_;
};

}  // namespace

void normalize(std::string_view text, Form form, AlignedText& out) {
  Normalizer normalizer(form, out);
  const bool compat = form == Form::nfkc || form == Form::nfkd;
  const char32_t first_change = compat ? 0x80 : kFirstChange;
  out.reserve(out.text().size() + text.size());
  for (std::size_t i = 0; i < text.size();) {
    const Utf8Char base = decode_utf8(text, i);
    std::size_t end = i + base.length;
    if (!base.valid) {
      out.copy(text.substr(i, base.length), i);
      i = end;
      continue;
    }
    for (Utf8Char c; end < text.size(); end += c.length) {
      c = decode_utf8(text, end);
      if (!c.valid || !continues_cluster(c.cp)) break;
    }
    if (base.cp < first_change && end == i + base.length)
      out.copy(text.substr(i, end - i), i);
    else
      normalizer.cluster(text.substr(i, end - i), i);
    i = end;
  }
}

bool is_space(char32_t cp) {
  if (cp < 0x80) return cp == ' ' || (cp >= 9 && cp <= 13);
  return cp == 0x85 || cp == 0xA0 || cp == 0x1680 || (cp >= 0x2000 && cp <= 0x200A) || cp == 0x2028 || cp == 0x2029 ||
         cp == 0x202F || cp == 0x205F || cp == 0x3000;
}

bool is_word(char32_t cp) {
  switch (utf8proc_category(static_cast<utf8proc_int32_t>(cp))) {
    case UTF8PROC_CATEGORY_LU: case UTF8PROC_CATEGORY_LL: case UTF8PROC_CATEGORY_LT: case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO: case UTF8PROC_CATEGORY_MN: case UTF8PROC_CATEGORY_MC: case UTF8PROC_CATEGORY_ME:
    case UTF8PROC_CATEGORY_ND: case UTF8PROC_CATEGORY_NL: case UTF8PROC_CATEGORY_NO: case UTF8PROC_CATEGORY_PC:
      return true;
    default: return false;
  }
}

}  // namespace hz::text::detail
