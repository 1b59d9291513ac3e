// SPDX-License-Identifier: Apache-2.0
// The method tables, sorted by name.
#pragma once
#include "src/text/jinja/interp.hpp"

namespace hz::text::jinja {

extern const MethodDef kStrMethods[];
extern const std::size_t kStrMethodCount;

Value str_isalnum(Interp& in, const Value& self, Args& args);
Value str_isalpha(Interp& in, const Value& self, Args& args);
Value str_isascii(Interp& in, const Value& self, Args& args);
Value str_isdecimal(Interp& in, const Value& self, Args& args);
Value str_isdigit(Interp& in, const Value& self, Args& args);
Value str_isidentifier(Interp& in, const Value& self, Args& args);
Value str_islower(Interp& in, const Value& self, Args& args);
Value str_isnumeric(Interp& in, const Value& self, Args& args);
Value str_isprintable(Interp& in, const Value& self, Args& args);
Value str_isspace(Interp& in, const Value& self, Args& args);
Value str_istitle(Interp& in, const Value& self, Args& args);
Value str_isupper(Interp& in, const Value& self, Args& args);

// For the tests `lower` and `upper`.
bool is_lower_text(Heap& heap, std::string_view text);
bool is_upper_text(Heap& heap, std::string_view text);

}  // namespace hz::text::jinja
