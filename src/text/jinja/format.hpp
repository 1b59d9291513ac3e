// SPDX-License-Identifier: Apache-2.0
// Formatting: the % operator, str.format, format specifications.
#pragma once
#include "src/text/jinja/interp.hpp"

namespace hz::text::jinja {

// text % args
Value format_percent(Interp& in, const Value& text, const Value& args);
// text.format(*args, **named)
Value format_braces(Interp& in, const Value& text, const Args& args);
// format(value, spec), appended to `out`; padding has origin `here`.
void format_value(Interp& in, Builder& out, const Value& value, std::string_view spec, Origin here);

// Digits of an integer value without sign in base 2, 8, 10 or 16.
std::string digits_of(Interp& in, const Value& integer, unsigned base);
bool is_negative(const Value& number);

}  // namespace hz::text::jinja
