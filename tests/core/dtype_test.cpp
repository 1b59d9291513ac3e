// SPDX-License-Identifier: Apache-2.0
// Half and bfloat16: every bit pattern, and rounding checked against arithmetic on the reals they stand for.
#include "hanzo/core/dtype.hpp"

#include <cmath>
#include <cstdint>
#include <limits>

#include "tests/catch.hpp"

namespace hz {
namespace {

// The value of a finite half by the definition of IEEE 754 binary16.
double half_value(std::uint32_t bits) {
  const double sign = (bits & 0x8000u) != 0 ? -1.0 : 1.0;
  const int exp = static_cast<int>((bits >> 10) & 31u), man = static_cast<int>(bits & 1023u);
  return sign * (exp == 0 ? std::ldexp(man, -24) : std::ldexp(1024 + man, exp - 25));
}

Half half(std::uint32_t bits) { return {static_cast<std::uint16_t>(bits)}; }
std::uint32_t bits_of(float f) { return std::bit_cast<std::uint32_t>(f); }

// The half nearest to |x| by search over all finite ones; ties to the even pattern.
std::uint32_t nearest_half(double x) {
  std::uint32_t low = 0, high = 0x7c00u;  // infinity stands for 65536 here
  const auto value = [](std::uint32_t b) { return b == 0x7c00u ? 65536.0 : half_value(b); };
  while (high - low > 1) {
    const std::uint32_t mid = (low + high) / 2;
    (value(mid) <= x ? low : high) = mid;
  }
  if (x >= 65536.0) return 0x7c00u;
  const double below = x - value(low), above = value(high) - x;
  if (below != above) return below < above ? low : high;
  return (low & 1u) == 0 ? low : high;
}

}  // namespace

TEST_CASE("every half converts to its exact float and back") {
  for (std::uint32_t b = 0; b < 0x10000u; ++b) {
    const float f = to_float(half(b));
    if ((b & 0x7c00u) == 0x7c00u) {
      const bool nan = (b & 0x3ffu) != 0;
      if (nan != std::isnan(f) || std::isinf(f) == nan) FAIL("half " << b);
      if (nan && !std::isnan(to_float(to_half(f)))) FAIL("NaN half " << b << " does not come back as NaN");
    } else if (static_cast<double>(f) != half_value(b) || std::signbit(f) != ((b & 0x8000u) != 0)) {
      FAIL("half " << b << " gives " << f);
    }
    if (!std::isnan(f) && to_half(f).bits != b) FAIL("half " << b << " comes back as " << to_half(f).bits);
  }
  SUCCEED("65536 patterns");
}

TEST_CASE("float to half rounds to nearest even around every half") {
  for (std::uint32_t b = 0; b < 0x7c00u; ++b) {
    const double middle = (half_value(b) + (b + 1 == 0x7c00u ? 65536.0 : half_value(b + 1))) / 2;
    const auto m = static_cast<float>(middle);  // exact: one bit more than a half
    for (const float x : {std::nextafter(m, 0.0f), m, std::nextafter(m, 1e9f)}) {
      const std::uint32_t want = nearest_half(static_cast<double>(x));
      if (to_half(x).bits != want || to_half(-x).bits != (want | 0x8000u))
        FAIL("float " << x << ": " << to_half(x).bits << ", expected " << want);
    }
  }
  SUCCEED("all midpoints and their neighbours");
}

TEST_CASE("float to half at the ends of the range") {
  CHECK(to_half(65504.0f).bits == 0x7bffu);
  CHECK(to_half(65520.0f).bits == 0x7c00u);
  CHECK(to_half(-std::numeric_limits<float>::infinity()).bits == 0xfc00u);
  CHECK(to_half(-0.0f).bits == 0x8000u);
  CHECK(to_half(std::numeric_limits<float>::denorm_min()).bits == 0u);
  CHECK(to_half(0x1p-25f).bits == 0u);        // half of the least: ties to even zero
  CHECK(to_half(0x1.000002p-25f).bits == 1u);
}

TEST_CASE("bfloat16 keeps the upper half and rounds to nearest even") {
  CHECK(to_bfloat16(1.0f).bits == 0x3f80u);
  CHECK(to_bfloat16(std::bit_cast<float>(0x3f808000u)).bits == 0x3f80u);  // a tie, down to even
  CHECK(to_bfloat16(std::bit_cast<float>(0x3f818000u)).bits == 0x3f82u);  // a tie, up to even
  CHECK(to_bfloat16(std::bit_cast<float>(0x3f808001u)).bits == 0x3f81u);
  CHECK(to_bfloat16(std::numeric_limits<float>::max()).bits == 0x7f80u);  // rounds to infinity
  CHECK(to_bfloat16(-0.0f).bits == 0x8000u);
  CHECK(std::isnan(to_float(to_bfloat16(std::bit_cast<float>(0x7f800001u)))));  // not infinity
  for (std::uint32_t b = 0; b < 0x10000u; ++b) {
    const float f = to_float(BFloat16{static_cast<std::uint16_t>(b)});
    if (bits_of(f) != b << 16) FAIL("bfloat16 " << b);
    if (!std::isnan(f) && to_bfloat16(f).bits != b) FAIL("bfloat16 " << b << " does not come back");
  }
}

TEST_CASE("each dtype has its size and name") {
  CHECK(size_of(DType::f32) == 4);
  CHECK(size_of(DType::bf16) == sizeof(BFloat16));
  CHECK(size_of(DType::i64) == 8);
  CHECK(size_of(DType::u8) == 1);
  CHECK(name_of(DType::i64) == "I64");
  CHECK(name_of(DType::bf16) == "BF16");
  CHECK(dtype_of<Half>::value == DType::f16);
}

}  // namespace hz
