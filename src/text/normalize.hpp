// SPDX-License-Identifier: Apache-2.0
// Unicode normalisation that keeps track of where each byte came from.
#pragma once
#include <string_view>

#include "src/text/aligned_text.hpp"

namespace hz::text::detail {

enum class Form { nfc, nfd, nfkc, nfkd };

// True when normalising cannot change the text: it is ASCII (or a cheap check says so).
bool surely_normal(std::string_view text);

// Appends the normalised text to out; ill-formed bytes are kept as they are. Linear but for sorting the marks
// of one base character.
void normalize(std::string_view text, Form form, AlignedText& out);

// White_Space of Unicode.
bool is_space(char32_t cp);

}  // namespace hz::text::detail
