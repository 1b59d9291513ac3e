// SPDX-License-Identifier: Apache-2.0
// BigInt: integers beyond 64 bits with Python's floor semantics, bounded at 14,284 bits (Python prints no more).
#pragma once
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hz::text::jinja {

// Every operation throws Fault when its result would exceed kMaxBits.
class BigInt {
 public:
  static constexpr std::size_t kMaxBits = 14284;

  BigInt() = default;
  explicit BigInt(std::int64_t v);
  static BigInt from_unsigned(std::uint64_t v);
  // Digits only, in base 2 to 36.
  static BigInt parse(std::string_view digits, unsigned base);
  // The integer part of a finite double.
  static BigInt from_double(double v);

  std::optional<std::int64_t> small() const;  // when it fits
  double to_double() const;                   // infinite when out of range
  std::string to_string(unsigned base = 10) const;
  bool zero() const { return limbs_.empty(); }
  bool negative() const { return negative_; }
  std::size_t bits() const;

  BigInt operator-() const;
  friend BigInt operator+(const BigInt& a, const BigInt& b);
  friend BigInt operator-(const BigInt& a, const BigInt& b);
  friend BigInt operator*(const BigInt& a, const BigInt& b);
  // Quotient rounded to minus infinity and the remainder with the sign of b. b is not zero.
  static void floor_div(const BigInt& a, const BigInt& b, BigInt& quotient, BigInt& remainder);
  BigInt pow(std::uint64_t exponent) const;
  friend std::strong_ordering operator<=>(const BigInt& a, const BigInt& b);
  friend bool operator==(const BigInt& a, const BigInt& b) = default;

 private:
  using Limbs = std::vector<std::uint32_t>;  // little endian, no leading zeros
  static std::strong_ordering compare(const Limbs& a, const Limbs& b);
  static Limbs add(const Limbs& a, const Limbs& b);
  static Limbs sub(const Limbs& a, const Limbs& b);  // a >= b
  static std::uint32_t div_small(Limbs& a, std::uint32_t by);
  BigInt(Limbs limbs, bool negative);
  void mul_add(std::uint32_t factor, std::uint32_t add);

  Limbs limbs_;
  bool negative_ = false;
};

}  // namespace hz::text::jinja
