// SPDX-License-Identifier: Apache-2.0
// Unicode as Python's str sees it: decoding, character classes, full case mapping.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace hz::text::jinja {

// Decodes the code point at `at` of valid UTF-8 and moves `at` past it.
char32_t decode(std::string_view text, std::size_t& at);
// Moves `at` to the start of the code point before it.
void step_back(std::string_view text, std::size_t& at);
void encode(char32_t c, std::string& out);
std::string encode(char32_t c);

bool is_space(char32_t c);  // str.isspace
bool is_alpha(char32_t c);
bool is_decimal(char32_t c);
bool is_digit(char32_t c);
bool is_numeric(char32_t c);
bool is_upper(char32_t c);
bool is_lower(char32_t c);
bool is_title(char32_t c);
bool is_printable(char32_t c);
bool is_word_start(char32_t c);  // may begin an identifier
bool is_word(char32_t c);        // may continue one
bool is_line_end(char32_t c);    // splits str.splitlines
// Value of a decimal digit.
int digit_value(char32_t c);

// Appends the mapping of `c`, one to three code points.
enum class Case : std::uint8_t { upper, lower, title, fold };
void map_case(Case to, char32_t c, std::string& out);
// Whether a capital sigma at [at, end) of `text` ends a word and so becomes a final small sigma.
bool is_final_sigma(std::string_view text, std::size_t at, std::size_t end);

}  // namespace hz::text::jinja
