// SPDX-License-Identifier: Apache-2.0
#include "src/text/jinja/number.hpp"

#include <cmath>
#include <limits>

namespace hz::text::jinja {

namespace {

constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min();

[[noreturn]] void zero_division(Arith op, bool real) {
  if (op == Arith::div || (real && op != Arith::mod)) throw Fault{real ? "float division by zero" : "division by zero"};
  throw Fault{real ? "float modulo" : "integer division or modulo by zero"};
}

double floor_mod(double a, double b) {
  double r = std::fmod(a, b);
  if (r != 0) {
    if ((b < 0) != (r < 0)) r += b;
  } else {
    r = std::copysign(0.0, b);
  }
  return r;
}

double floor_quotient(double a, double b) {
  const double mod = floor_mod(a, b);
  const double div = (a - mod) / b;
  if (div == 0) return std::copysign(0.0, a / b);
  const double floored = std::floor(div);
  return div - floored > 0.5 ? floored + 1 : floored;
}

double power(double a, double b) {
  if (a == 0 && b < 0) throw Fault{"0.0 cannot be raised to a negative power"};
  if (a < 0 && std::isfinite(b) && b != std::floor(b)) {
    throw Fault{"a negative number to a fractional power is complex", ErrorKind::unsupported};
  }
  const double r = std::pow(a, b);
  if (std::isinf(r) && std::isfinite(a) && std::isfinite(b)) throw Fault{"result of ** is too large for a float"};
  return r;
}

Value real_arithmetic(Arith op, double a, double b) {
  switch (op) {
    case Arith::add: return Value::real(a + b);
    case Arith::sub: return Value::real(a - b);
    case Arith::mul: return Value::real(a * b);
    case Arith::pow: return Value::real(power(a, b));
    default: break;
  }
  if (b == 0) zero_division(op, true);
  if (op == Arith::div) return Value::real(a / b);
  return Value::real(op == Arith::mod ? floor_mod(a, b) : floor_quotient(a, b));
}

Value big_arithmetic(Heap& heap, Arith op, const BigInt& a, const BigInt& b) {
  const std::size_t limbs = (a.bits() / 32 + 1) * (b.bits() / 32 + 1);
  switch (op) {
    case Arith::add: return make_int(heap, a + b);
    case Arith::sub: return make_int(heap, a - b);
    case Arith::mul: heap.charge(limbs / 8); return make_int(heap, a * b);
    case Arith::pow: {
      const auto exponent = b.small();
      if (b.negative()) return Value::real(power(a.to_double(), b.to_double()));
      heap.charge(200 * (exponent ? static_cast<std::uint64_t>(std::min<std::int64_t>(*exponent, 64)) : 1));
      return make_int(heap, a.pow(exponent ? static_cast<std::uint64_t>(*exponent) : BigInt::kMaxBits + 1));
    }
    default: break;
  }
  if (b.zero()) zero_division(op, false);
  if (op == Arith::div) {
    const double r = a.to_double() / b.to_double();
    if (!std::isfinite(r)) throw Fault{"integer division result too large for a float"};
    return Value::real(r);
  }
  heap.charge(limbs * 4);
  BigInt quotient, remainder;
  BigInt::floor_div(a, b, quotient, remainder);
  return make_int(heap, op == Arith::mod ? remainder : quotient);
}

// The result when it fits 64 bits.
std::optional<std::int64_t> small_arithmetic(Arith op, std::int64_t a, std::int64_t b) {
  std::int64_t r = 0;
  switch (op) {
    case Arith::add:
      if (!__builtin_add_overflow(a, b, &r)) return r;
      return std::nullopt;
    case Arith::sub:
      if (!__builtin_sub_overflow(a, b, &r)) return r;
      return std::nullopt;
    case Arith::mul:
      if (!__builtin_mul_overflow(a, b, &r)) return r;
      return std::nullopt;
    case Arith::floor_div:
      if (b == 0) zero_division(op, false);
      if (a == kMin && b == -1) return std::nullopt;
      return a / b - ((a % b != 0 && (a < 0) != (b < 0)) ? 1 : 0);
    case Arith::mod:
      if (b == 0) zero_division(op, false);
      if (b == -1) return 0;
      r = a % b;
      return r != 0 && (r < 0) != (b < 0) ? r + b : r;
    default: return std::nullopt;
  }
}

}  // namespace

std::string_view symbol(Arith op) {
  constexpr std::string_view kNames[] = {"+", "-", "*", "/", "//", "%", "**"};
  return kNames[static_cast<std::size_t>(op)];
}

Value make_int(Heap& heap, const BigInt& v, Origin origin) {
  if (const auto small = v.small()) return Value::integer(*small, origin);
  return Value::object(Kind::big, heap.make<Big>(v.bits() / 8, v), origin);
}

BigInt big_of(const Value& v) { return v.is(Kind::big) ? v.as<Big>().v : BigInt(v.integer()); }

double real_of(const Value& number) {
  if (number.is(Kind::real)) return number.real();
  if (!number.is(Kind::big)) return static_cast<double>(number.integer());
  const double r = number.as<Big>().v.to_double();
  if (std::isinf(r)) throw Fault{"int too large to convert to float"};
  return r;
}

std::int64_t clamp_int(const Value& integer) {
  if (!integer.is(Kind::big)) return integer.integer();
  return integer.as<Big>().v.negative() ? kMin : std::numeric_limits<std::int64_t>::max();
}

Value arithmetic(Heap& heap, Arith op, const Value& a, const Value& b) {
  if (a.is(Kind::real) || b.is(Kind::real)) return real_arithmetic(op, real_of(a), real_of(b));
  if (a.is_small_int() && b.is_small_int()) {
    if (op == Arith::div) {
      if (b.integer() == 0) zero_division(op, false);
      constexpr std::int64_t kExact = std::int64_t{1} << 53;  // both exact: one rounding
      const auto exact = [](std::int64_t v) { return v > -kExact && v < kExact; };
      if (exact(a.integer()) && exact(b.integer())) {
        return Value::real(static_cast<double>(a.integer()) / static_cast<double>(b.integer()));
      }
    }
    if (const auto r = small_arithmetic(op, a.integer(), b.integer())) return Value::integer(*r);
  }
  return big_arithmetic(heap, op, big_of(a), big_of(b));
}

Value negate(Heap& heap, const Value& a) {
  if (a.is(Kind::real)) return Value::real(-a.real());
  if (a.is_small_int() && a.integer() != kMin) return Value::integer(-a.integer());
  return make_int(heap, -big_of(a));
}

}  // namespace hz::text::jinja
