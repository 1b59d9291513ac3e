// SPDX-License-Identifier: Apache-2.0
// Argument binding for filters, tests, methods and global functions.
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "src/text/jinja/interp.hpp"

namespace hz::text::jinja {

void bind_into(std::string_view function, Args& args, const std::string_view* names, Value* values, std::size_t count,
               std::size_t required);

template <std::size_t N>
std::array<Value, N> bind(std::string_view function, Args& args, const std::array<std::string_view, N>& names, std::size_t required) {
  std::array<Value, N> values;
  bind_into(function, args, names.data(), values.data(), N, required);
  return values;
}
// No arguments at all.
void bind_none(std::string_view function, const Args& args);

// Conversions; each throws Fault naming the function.
std::int64_t want_int(std::string_view function, const Value& v);                       // an integer, clamped to 64 bits
std::int64_t int_or(std::string_view function, const Value& v, std::int64_t fallback);  // missing or None: fallback
bool truth_or(const Value& v, bool fallback);
const Value& want_str(std::string_view function, const Value& v);
// soft_str: any value as text, Markup kept.
Value soft_str(Interp& in, const Value& v);
// A length for repetition or padding that the budget allows.
std::size_t want_count(Interp& in, std::string_view function, std::int64_t n);

}  // namespace hz::text::jinja
