// SPDX-License-Identifier: Apache-2.0
// Exponential and logarithm for sampling. No fma and no libm: plain multiplications and additions give the same
// bits on every machine, and the float loop vectorises at the base instruction set.
#include "src/engine/exact_math.hpp"

#include <bit>
#include <cstdint>
#include <limits>

namespace hz::engine {
namespace {

constexpr double kLn2High = 0x1.62e42feep-1;           // 32 bits: n * kLn2High is exact for |n| < 2^20
constexpr double kLn2Low = 0x1.a39ef35793c76p-33;
constexpr double kInf = std::numeric_limits<double>::infinity();

// 2^n for -1022 <= n <= 1023.
double pow2(std::int64_t n) { return std::bit_cast<double>(static_cast<std::uint64_t>(n + 1023) << 52); }

// e^a for a <= 0: a = n ln 2 + r. Adding 1.5 * 2^23 rounds to an integer and leaves it in the low bits. The limits
// are taken on the bits of -a: float comparisons may trap, which keeps compilers from vectorising.
inline float exp_nonpositive(float a) {
  constexpr float kRound = 0x1.8p23f;
  constexpr auto kFarthest = std::bit_cast<std::int32_t>(100.0f), kZero = std::bit_cast<std::int32_t>(64.0f);
  const std::int32_t size = std::bit_cast<std::int32_t>(a) & 0x7fffffff;
  const std::int32_t over = size - kFarthest;
  const std::int32_t near = kFarthest + (over & (over >> 31));  // the smaller
  const float c = -std::bit_cast<float>(near);
  const float t = c * 0x1.715476p+0f + kRound;
  const float n = t - kRound;
  float r = c - n * 0x1.62e400p-1f;
  r = r - n * 0x1.7f7d1cp-20f;
  float p = 0x1.9f08f8p-13f;
  p = p * r + 0x1.6d8ce6p-10f;
  p = p * r + 0x1.111270p-7f;
  p = p * r + 0x1.55548ep-5f;
  p = p * r + 0x1.555554p-3f;
  p = p * r + 0.5f;
  p = (p * r) * r + r;
  p = p + 1.0f;
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(p) + (std::bit_cast<std::uint32_t>(t) << 23);
  return std::bit_cast<float>(bits & ~static_cast<std::uint32_t>((kZero - size) >> 31));
}

}  // namespace

double exp64(double x) {
  if (x < -708.0) return 0.0;
  if (x > 709.0) return kInf;
  constexpr double kRound = 0x1.8p52;
  const double n = (x * 0x1.71547652b82fep+0 + kRound) - kRound;
  double r = x - n * kLn2High;
  r = r - n * kLn2Low;
  // Taylor's series; |r| <= 0.347, the first term left out is below 2^-57.
  constexpr double kInverseFactorial[] = {1.0 / 6227020800, 1.0 / 479001600, 1.0 / 39916800, 1.0 / 3628800, 1.0 / 362880,
                                          1.0 / 40320,      1.0 / 5040,      1.0 / 720,      1.0 / 120,     1.0 / 24,
                                          1.0 / 6,          0.5};
  double p = 0;
  for (const double c : kInverseFactorial) p = p * r + c;
  p = (p * r) * r + r;
  p = p + 1.0;
  const auto k = static_cast<std::int64_t>(n);
  return k > 1023 ? (p * 2.0) * pow2(k - 1) : p * pow2(k);
}

double log64(double x) {
  if (!(x > 0)) return -kInf;
  if (x == kInf) return kInf;
  double shift = 0;
  if (x < 0x1p-1022) {
    x = x * 0x1p54;
    shift = -54;
  }
  auto bits = std::bit_cast<std::uint64_t>(x);
  auto e = static_cast<std::int64_t>(bits >> 52) - 1023;
  double m = std::bit_cast<double>((bits & 0xfffffffffffffull) | 0x3ff0000000000000ull);
  if (m > 0x1.6a09e667f3bcdp+0) {
    m = m * 0.5;
    e += 1;
  }
  // log m = 2 atanh f with f = (m - 1) / (m + 1), |f| <= 0.172; the first term left out is below 2^-58.
  const double f = (m - 1.0) / (m + 1.0), s = f * f;
  constexpr double kOdd[] = {1.0 / 23, 1.0 / 21, 1.0 / 19, 1.0 / 17, 1.0 / 15, 1.0 / 13, 1.0 / 11, 1.0 / 9, 1.0 / 7, 1.0 / 5, 1.0 / 3};
  double p = 0;
  for (const double c : kOdd) p = p * s + c;
  const double n = static_cast<double>(e) + shift;
  const double tail = (2.0 * f) * (p * s) + n * kLn2Low;
  return (tail + 2.0 * f) + n * kLn2High;
}

double pow64(double x, double y) {
  if (y == 0) return 1;
  if (x <= 0) return 0;
  return exp64(y * log64(x));
}

float exp_weight(float x, float max, float scale) { return exp_nonpositive((x - max) * scale); }

void exp_weights(std::span<const float> x, float max, float scale, float* w) {
  const float* p = x.data();
  const std::size_t n = x.size();
  for (std::size_t i = 0; i < n; ++i) w[i] = exp_nonpositive((p[i] - max) * scale);
}

double sum16(std::span<const float> x) {
  double lane[16] = {};
  std::size_t i = 0;
  for (; i + 16 <= x.size(); i += 16)
    for (std::size_t j = 0; j < 16; ++j) lane[j] += static_cast<double>(x[i + j]);
  for (std::size_t j = 0; i + j < x.size(); ++j) lane[j] += static_cast<double>(x[i + j]);
  for (std::size_t width = 8; width > 0; width /= 2)
    for (std::size_t j = 0; j < width; ++j) lane[j] += lane[j + width];
  return lane[0];
}

}  // namespace hz::engine
