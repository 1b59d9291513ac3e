// SPDX-License-Identifier: Apache-2.0
// Checked: the one integer type for sizes that come from outside. Overflow is sticky and never wraps.
#pragma once
#include <concepts>
#include <cstdint>
#include <limits>
#include <optional>
#include <type_traits>
#include <utility>

namespace hz {

// An unsigned 64-bit size, or "overflowed". Any operation on an overflowed value stays overflowed.
class Checked {
 public:
  constexpr Checked() = default;
  template <std::integral T>
  constexpr Checked(T v) : value_(static_cast<std::uint64_t>(v)), ok_(true) {  // NOLINT(google-explicit-constructor)
    if constexpr (std::is_signed_v<T>) ok_ = v >= 0;
  }

  constexpr bool ok() const { return ok_; }
  constexpr std::optional<std::uint64_t> get() const { return ok_ ? std::optional(value_) : std::nullopt; }
  // The value, or the largest uint64: compares as "too big" against any real limit.
  constexpr std::uint64_t or_max() const { return ok_ ? value_ : std::numeric_limits<std::uint64_t>::max(); }

  friend constexpr Checked operator+(Checked a, Checked b) {
    Checked r;
    r.ok_ = a.ok_ && b.ok_ && !__builtin_add_overflow(a.value_, b.value_, &r.value_);
    return r;
  }
  friend constexpr Checked operator-(Checked a, Checked b) {
    Checked r;
    r.ok_ = a.ok_ && b.ok_ && !__builtin_sub_overflow(a.value_, b.value_, &r.value_);
    return r;
  }
  friend constexpr Checked operator*(Checked a, Checked b) {
    Checked r;
    r.ok_ = a.ok_ && b.ok_ && !__builtin_mul_overflow(a.value_, b.value_, &r.value_);
    return r;
  }
  // Next multiple of `align` (> 0).
  constexpr Checked round_up(std::uint64_t align) const {
    if (!ok_ || align == 0) return {};
    const std::uint64_t rest = value_ % align;
    return rest == 0 ? *this : *this + Checked(align - rest);
  }
  friend constexpr bool operator<=(Checked a, std::uint64_t limit) { return a.ok_ && a.value_ <= limit; }

 private:
  std::uint64_t value_ = 0;
  bool ok_ = false;
};

// A narrowing cast that fails instead of wrapping.
template <std::integral To, std::integral From>
constexpr std::optional<To> narrow(From v) {
  if (!std::in_range<To>(v)) return std::nullopt;
  return static_cast<To>(v);
}

}  // namespace hz
