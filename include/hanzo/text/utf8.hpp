// SPDX-License-Identifier: Apache-2.0
// UTF-8: decoding one character at a time, and repair of byte strings that are not valid.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>

namespace hz::text {

inline constexpr char32_t kReplacement = 0xFFFD;
inline constexpr std::string_view kReplacementUtf8 = "\xEF\xBF\xBD";

// One step of decoding. Ill-formed input gives valid = false, cp = U+FFFD and as length the "maximal subpart"
// of the Unicode standard (section 3.9): the bytes that one U+FFFD stands for, 1 to 3.
struct Utf8Char {
  char32_t cp = kReplacement;
  unsigned length = 1;      // bytes
  bool valid = false;
  bool truncated = false;   // ill-formed only because the text ends inside the character
};

// Decodes the character that begins at text[pos]; pos < text.size(). Surrogates, overlong forms and values
// above U+10FFFF are ill-formed.
Utf8Char decode_utf8(std::string_view text, std::size_t pos);

// Appends cp (a Unicode scalar value) to out.
void append_utf8(std::string& out, char32_t cp);

// Position of the first byte that begins no well-formed character, or text.size().
std::size_t first_invalid_utf8(std::string_view text);
inline bool is_valid_utf8(std::string_view text) { return first_invalid_utf8(text) == text.size(); }

// The text with each maximal ill-formed subpart replaced by U+FFFD.
std::string repair_utf8(std::string_view text);

// Bytes at the end of text that begin a character but do not finish it, 0 to 3.
std::size_t incomplete_utf8_tail(std::string_view text);

}  // namespace hz::text
