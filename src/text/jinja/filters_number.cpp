// SPDX-License-Identifier: Apache-2.0
// Filters on numbers.
#include <algorithm>
#include <array>
#include <cmath>

#include "src/text/jinja/bind.hpp"
#include "src/text/jinja/compare.hpp"
#include "src/text/jinja/filters.hpp"
#include "src/text/jinja/format.hpp"
#include "src/text/jinja/print.hpp"

namespace hz::text::jinja {

namespace {

const Value& want_number(std::string_view function, const Value& v) {
  if (v.is_undefined()) throw_undefined(v);
  if (!v.is_number()) {
    throw Fault{std::string(function) + ": a number is required, not '" + std::string(type_name(v.kind())) + "'"};
  }
  return v;
}

Value with_origin_of(Value v, const Value& from) {
  v.set_origin(from.origin());
  return v;
}

// float(v); missing when Python raises ValueError or TypeError.
Value to_real(const Value& v) {
  if (v.is_undefined()) throw_undefined(v);
  if (v.is_number()) return with_origin_of(Value::real(real_of(v)), v);
  if (!v.is_str()) return {};
  const auto r = parse_real(text_of(v));
  return r ? with_origin_of(Value::real(*r), v) : Value();
}

// Rounds an integer to tens, hundreds ..., half to even.
Value round_integer(Interp& in, const Value& v, std::int64_t digits) {
  if (digits >= 0) return v.is(Kind::boolean) ? Value::integer(v.integer()) : v;
  if (digits < -4300) return Value::integer(0);
  in.heap().charge(static_cast<std::uint64_t>(-digits));
  const BigInt unit = BigInt(10).pow(static_cast<std::uint64_t>(-digits));
  BigInt quotient, rest, half, odd;
  in.heap().charge(unit.bits() * unit.bits() / 256);
  BigInt::floor_div(big_of(v), unit, quotient, rest);
  BigInt::floor_div(quotient, BigInt(2), half, odd);
  const auto twice = (rest + rest) <=> unit;
  if (twice > 0 || (twice == 0 && !odd.zero())) quotient = quotient + BigInt(1);
  return make_int(in.heap(), quotient * unit);
}

}  // namespace

Value filter_abs(Interp& in, const Value& v, Args& args) {
  bind_none("abs", args);
  want_number("abs", v);
  if (v.is(Kind::real)) return with_origin_of(Value::real(std::fabs(v.real())), v);
  if (is_negative(v)) return with_origin_of(negate(in.heap(), v), v);
  return v.is(Kind::boolean) ? Value::integer(v.integer()) : v;
}

Value filter_int(Interp& in, const Value& v, Args& args) {
  const auto [fallback, base_] = bind<2>("int", args, {"default", "base"}, 0);
  if (v.is_undefined()) throw_undefined(v);
  if (v.is(Kind::boolean)) return Value::integer(v.integer(), v.origin());
  if (v.is_int()) return v;
  if (v.is_str()) {
    const std::int64_t base = int_or("int", base_, 10);
    if (base != 0 && (base < 2 || base > 36)) throw Fault{"int() base must be >= 2 and <= 36, or 0"};
    const std::size_t size = std::min(text_of(v).size(), BigInt::kMaxBits);
    in.heap().charge_bytes(16 * text_of(v).size() + size * size / 8);
    if (const auto r = parse_int(text_of(v), static_cast<unsigned>(base))) return make_int(in.heap(), *r, v.origin());
  }
  const Value real = to_real(v);
  if (!real.is_missing() && std::isfinite(real.real())) return make_int(in.heap(), BigInt::from_double(real.real()), v.origin());
  if (v.is(Kind::real) && std::isinf(v.real())) throw Fault{"cannot convert float infinity to integer"};
  return fallback.is_missing() ? Value::integer(0, in.here()) : fallback;
}

Value filter_float(Interp& in, const Value& v, Args& args) {
  const auto [fallback] = bind<1>("float", args, {"default"}, 0);
  const Value real = to_real(v);
  if (!real.is_missing()) return real;
  return fallback.is_missing() ? Value::real(0, in.here()) : fallback;
}

Value filter_round(Interp& in, const Value& v, Args& args) {
  const auto [precision_, method_] = bind<2>("round", args, {"precision", "method"}, 0);
  const std::string method = method_.is_missing() ? "common" : std::string(text_of(want_str("round", method_)));
  if (method != "common" && method != "ceil" && method != "floor") throw Fault{"method must be common, ceil or floor"};
  want_number("round", v);
  if (method == "common") {
    if (!precision_.is_missing() && precision_.is_none()) {
      const double whole = round_real(real_of(v), 0);
      return v.is(Kind::real) ? make_int(in.heap(), BigInt::from_double(whole), v.origin()) : v;
    }
    const std::int64_t precision = int_or("round", precision_, 0);
    if (!v.is(Kind::real)) return with_origin_of(round_integer(in, v, precision), v);
    return Value::real(round_real(v.real(), precision), v.origin());
  }
  const std::int64_t precision = int_or("round", precision_, 0);
  if (precision > 400 || precision < -400) throw Fault{"round: precision out of range"};
  const double scale = std::pow(10.0, static_cast<double>(precision));
  const double scaled = real_of(v) * scale;
  if (!std::isfinite(scaled)) throw Fault{"cannot convert float infinity or NaN to integer"};
  return Value::real((method == "ceil" ? std::ceil(scaled) : std::floor(scaled)) / scale + 0.0, v.origin());
}

Value filter_filesizeformat(Interp& in, const Value& v, Args& args) {
  const auto [binary_] = bind<1>("filesizeformat", args, {"binary"}, 0);
  const bool binary = truth_or(binary_, false);
  const Value real = to_real(v);
  if (real.is_missing()) throw Fault{"filesizeformat: could not convert to float"};
  const double bytes = real.real();
  const double base = binary ? 1024 : 1000;
  if (bytes == 1) return in.text("1 Byte");
  if (!std::isfinite(bytes)) throw Fault{"filesizeformat: the size is not finite"};
  if (bytes < base) return in.text(BigInt::from_double(bytes).to_string() + " Bytes");
  constexpr std::array<std::string_view, 8> kBinary = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB", "ZiB", "YiB"};
  constexpr std::array<std::string_view, 8> kDecimal = {"kB", "MB", "GB", "TB", "PB", "EB", "ZB", "YB"};
  double unit = base;
  std::size_t i = 0;
  for (unit *= base; i + 1 < kBinary.size() && bytes >= unit; ++i) unit *= base;
  return in.text(format_real(base * bytes / unit, 'f', 1, false) + " " + std::string((binary ? kBinary : kDecimal)[i]));
}

}  // namespace hz::text::jinja
