// SPDX-License-Identifier: Apache-2.0
#include "src/text/jinja/bigint.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "src/text/jinja/heap.hpp"

namespace hz::text::jinja {

namespace {
[[noreturn]] void too_big() { throw Fault{"an integer grows beyond " + std::to_string(BigInt::kMaxBits) + " bits"}; }
void trim(std::vector<std::uint32_t>& limbs) {
  while (!limbs.empty() && limbs.back() == 0) limbs.pop_back();
}
}  // namespace

BigInt::BigInt(Limbs limbs, bool negative) : limbs_(std::move(limbs)), negative_(negative) {
  trim(limbs_);
  if (limbs_.empty()) negative_ = false;
  if (bits() > kMaxBits) too_big();
}

BigInt BigInt::from_unsigned(std::uint64_t v) {
  return BigInt({static_cast<std::uint32_t>(v), static_cast<std::uint32_t>(v >> 32U)}, false);
}

BigInt::BigInt(std::int64_t v) {
  const auto magnitude = v < 0 ? ~static_cast<std::uint64_t>(v) + 1 : static_cast<std::uint64_t>(v);
  *this = from_unsigned(magnitude);
  negative_ = v < 0;
}

void BigInt::mul_add(std::uint32_t factor, std::uint32_t add) {
  std::uint64_t carry = add;
  for (auto& limb : limbs_) {
    carry += static_cast<std::uint64_t>(limb) * factor;
    limb = static_cast<std::uint32_t>(carry);
    carry >>= 32U;
  }
  if (carry != 0) limbs_.push_back(static_cast<std::uint32_t>(carry));
}

BigInt BigInt::parse(std::string_view digits, unsigned base) {
  BigInt r;
  if (digits.size() > kMaxBits) too_big();
  std::uint32_t scale = 1, part = 0;  // digits gathered into one word at a time
  for (const char c : digits) {
    const auto digit = static_cast<std::uint32_t>(c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10);
    part = part * base + digit;
    scale *= base;
    if (scale < (1U << 26U)) continue;
    r.mul_add(scale, part);
    scale = 1;
    part = 0;
  }
  r.mul_add(scale, part);
  return BigInt(std::move(r.limbs_), false);
}

BigInt BigInt::from_double(double v) {
  int exponent = 0;
  const double fraction = std::frexp(std::fabs(v), &exponent);  // |v| = fraction * 2^exponent
  if (exponent <= 63) return BigInt(static_cast<std::int64_t>(v));
  const auto mantissa = static_cast<std::uint64_t>(std::ldexp(fraction, 53));
  BigInt r = from_unsigned(mantissa) * BigInt(2).pow(static_cast<std::uint64_t>(exponent - 53));
  r.negative_ = v < 0;
  return r;
}

std::size_t BigInt::bits() const {
  if (limbs_.empty()) return 0;
  return 32 * limbs_.size() - static_cast<std::size_t>(std::countl_zero(limbs_.back()));
}

std::optional<std::int64_t> BigInt::small() const {
  if (limbs_.size() > 2) return std::nullopt;
  std::uint64_t m = 0;
  for (std::size_t i = limbs_.size(); i-- > 0;) m = m << 32U | limbs_[i];
  constexpr auto kMax = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  if (negative_ ? m > kMax + 1 : m > kMax) return std::nullopt;
  return negative_ ? static_cast<std::int64_t>(~m + 1) : static_cast<std::int64_t>(m);
}

double BigInt::to_double() const {
  // The top 64 bits, with a sticky lowest bit, round once and correctly.
  const std::size_t n = bits();
  if (n == 0) return 0;
  std::uint64_t top = 0;
  bool sticky = false;
  const std::size_t drop = n > 64 ? n - 64 : 0;
  for (std::size_t i = limbs_.size() * 32; i-- > 0;) {
    const bool bit = (limbs_[i / 32] >> (i % 32) & 1U) != 0;
    if (i >= drop) {
      if (i < 64 + drop) top = top << 1U | (bit ? 1U : 0U);
    } else {
      sticky = sticky || bit;
    }
  }
  if (sticky) top |= 1U;
  const double m = std::ldexp(static_cast<double>(top), static_cast<int>(drop));
  return negative_ ? -m : m;
}

std::uint32_t BigInt::div_small(Limbs& a, std::uint32_t by) {
  std::uint64_t rest = 0;
  for (std::size_t i = a.size(); i-- > 0;) {
    rest = rest << 32U | a[i];
    a[i] = static_cast<std::uint32_t>(rest / by);
    rest %= by;
  }
  trim(a);
  return static_cast<std::uint32_t>(rest);
}

std::string BigInt::to_string(unsigned base) const {
  if (limbs_.empty()) return "0";
  std::uint32_t chunk = base;  // the largest power of the base below 2^28
  int digits = 1;
  for (; chunk < (1U << 28U) / base; ++digits) chunk *= base;
  std::string r;
  Limbs rest = limbs_;
  while (!rest.empty()) {
    std::uint32_t part = div_small(rest, chunk);
    for (int i = 0; i < digits && (part != 0 || !rest.empty()); ++i, part /= base) {
      r.push_back("0123456789abcdefghijklmnopqrstuvwxyz"[part % base]);
    }
  }
  if (negative_) r.push_back('-');
  std::reverse(r.begin(), r.end());
  return r;
}

std::strong_ordering BigInt::compare(const Limbs& a, const Limbs& b) {
  if (a.size() != b.size()) return a.size() <=> b.size();
  for (std::size_t i = a.size(); i-- > 0;) {
    if (a[i] != b[i]) return a[i] <=> b[i];
  }
  return std::strong_ordering::equal;
}

std::strong_ordering operator<=>(const BigInt& a, const BigInt& b) {
  if (a.negative_ != b.negative_) return a.negative_ ? std::strong_ordering::less : std::strong_ordering::greater;
  return a.negative_ ? BigInt::compare(b.limbs_, a.limbs_) : BigInt::compare(a.limbs_, b.limbs_);
}

BigInt::Limbs BigInt::add(const Limbs& a, const Limbs& b) {
  Limbs r(std::max(a.size(), b.size()) + 1);
  std::uint64_t carry = 0;
  for (std::size_t i = 0; i < r.size(); ++i) {
    carry += (i < a.size() ? a[i] : 0ULL) + (i < b.size() ? b[i] : 0ULL);
    r[i] = static_cast<std::uint32_t>(carry);
    carry >>= 32U;
  }
  return r;
}

BigInt::Limbs BigInt::sub(const Limbs& a, const Limbs& b) {
  Limbs r(a.size());
  std::uint64_t borrow = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const std::uint64_t d = static_cast<std::uint64_t>(a[i]) - (i < b.size() ? b[i] : 0U) - borrow;
    r[i] = static_cast<std::uint32_t>(d);
    borrow = d >> 63U;
  }
  return r;
}

BigInt BigInt::operator-() const { return BigInt(limbs_, !negative_); }

BigInt operator+(const BigInt& a, const BigInt& b) {
  if (a.negative_ == b.negative_) return BigInt(BigInt::add(a.limbs_, b.limbs_), a.negative_);
  if (BigInt::compare(a.limbs_, b.limbs_) >= 0) return BigInt(BigInt::sub(a.limbs_, b.limbs_), a.negative_);
  return BigInt(BigInt::sub(b.limbs_, a.limbs_), b.negative_);
}

BigInt operator-(const BigInt& a, const BigInt& b) { return a + -b; }

BigInt operator*(const BigInt& a, const BigInt& b) {
  if (a.bits() + b.bits() > BigInt::kMaxBits + 1) too_big();
  BigInt::Limbs r(a.limbs_.size() + b.limbs_.size());
  for (std::size_t i = 0; i < a.limbs_.size(); ++i) {
    std::uint64_t carry = 0;
    for (std::size_t j = 0; j < b.limbs_.size(); ++j) {
      carry += r[i + j] + static_cast<std::uint64_t>(a.limbs_[i]) * b.limbs_[j];
      r[i + j] = static_cast<std::uint32_t>(carry);
      carry >>= 32U;
    }
    r[i + b.limbs_.size()] = static_cast<std::uint32_t>(carry);
  }
  return BigInt(std::move(r), a.negative_ != b.negative_);
}

void BigInt::floor_div(const BigInt& a, const BigInt& b, BigInt& quotient, BigInt& remainder) {
  // Magnitudes first, bit by bit: numbers are short (kMaxBits) and this is rare.
  Limbs q(a.limbs_.size());
  Limbs rest;
  for (std::size_t i = a.limbs_.size() * 32; i-- > 0;) {
    std::uint32_t carry = a.limbs_[i / 32] >> (i % 32) & 1U;
    for (auto& limb : rest) {
      const std::uint32_t out = limb >> 31U;
      limb = limb << 1U | carry;
      carry = out;
    }
    if (carry != 0) rest.push_back(carry);
    if (compare(rest, b.limbs_) < 0) continue;
    rest = sub(rest, b.limbs_);
    trim(rest);
    q[i / 32] |= 1U << (i % 32);
  }
  const bool opposite = a.negative_ != b.negative_;
  quotient = BigInt(std::move(q), opposite);
  remainder = BigInt(std::move(rest), a.negative_);
  if (opposite && !remainder.zero()) {
    quotient = quotient - BigInt(1);
    remainder = remainder + b;
  }
}

BigInt BigInt::pow(std::uint64_t exponent) const {
  if (limbs_.empty() || (limbs_.size() == 1 && limbs_[0] == 1)) {
    if (exponent == 0 || !negative_) return exponent == 0 ? BigInt(1) : *this;
    return exponent % 2 == 0 ? BigInt(1) : *this;
  }
  if (exponent > kMaxBits) too_big();
  BigInt r(1);
  BigInt square = *this;
  for (std::uint64_t e = exponent;;) {
    if (e % 2 == 1) r = r * square;
    e /= 2;
    if (e == 0) return r;
    square = square * square;
  }
}

}  // namespace hz::text::jinja
