// SPDX-License-Identifier: Apache-2.0
// Numbers: Python's arithmetic on integers of any size and doubles, and their text.
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "src/text/jinja/bigint.hpp"
#include "src/text/jinja/value.hpp"

namespace hz::text::jinja {

struct Big : Object {
  explicit Big(BigInt v_) : v(std::move(v_)) {}
  BigInt v;
};

enum class Arith : std::uint8_t { add, sub, mul, div, floor_div, mod, pow };
std::string_view symbol(Arith op);

Value make_int(Heap& heap, const BigInt& v, Origin origin = {});
BigInt big_of(const Value& v);        // of any integer or boolean
double real_of(const Value& number);  // throws Fault when an integer is too large for a double
// The value as an index or count; clamped to the range of int64 when it is larger.
std::int64_t clamp_int(const Value& integer);

// Both operands are numbers.
Value arithmetic(Heap& heap, Arith op, const Value& a, const Value& b);
Value negate(Heap& heap, const Value& a);

// repr(float): the shortest digits that read back, "1e+16" style from 1e16 and below 1e-4.
std::string real_text(double v);
std::string int_text(Heap& heap, const Value& integer);
// printf-like %e %f %g with `precision`, in the C locale; alternate keeps the point and zeros.
std::string format_real(double v, char type, int precision, bool alternate);
// Python's round(v, digits).
double round_real(double v, std::int64_t digits);

// int(text, base) and float(text); nullopt when Python raises ValueError.
std::optional<BigInt> parse_int(std::string_view text, unsigned base);
std::optional<double> parse_real(std::string_view text);

}  // namespace hz::text::jinja
