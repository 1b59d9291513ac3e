// SPDX-License-Identifier: Apache-2.0
// Own double-precision log, power, sine and cosine: libm differs between versions, these sequences do not.
#include "hanzo/model/rope_table.hpp"

#include <bit>
#include <cmath>
#include <vector>

#include "hanzo/core/parallel.hpp"

namespace hz::model {
namespace {

// ln x by 2 atanh((m - 1) / (m + 1)) on the mantissa m in [sqrt 1/2, sqrt 2): a series of 17 terms.
double own_log(double x) {
  auto bits = std::bit_cast<std::uint64_t>(x);
  auto e = static_cast<int>(bits >> 52) - 1023;
  double m = std::bit_cast<double>((bits & 0xfffffffffffffull) | 0x3ff0000000000000ull);
  if (m > 1.4142135623730951) {
    m *= 0.5;
    ++e;
  }
  const double t = (m - 1) / (m + 1), z = t * t;
  double s = 0;
  for (int k = 33; k >= 1; k -= 2) s = s * z + 1.0 / k;
  return 2 * t * s + e * 0.6931471805599453;
}

// e^x by halving the range to |r| <= ln 2 / 2 and a Taylor series of 18 terms.
double own_exp(double x) {
  const double n = std::nearbyint(x * 1.4426950408889634);
  const double r = (x - n * 0.693147180369123816490) - n * 1.90821492927058770002e-10;
  double s = 1;
  for (int k = 18; k >= 1; --k) s = 1 + s * r / k;
  return std::bit_cast<double>(std::bit_cast<std::uint64_t>(s) + (static_cast<std::uint64_t>(static_cast<std::int64_t>(n)) << 52));
}

struct CosSin {
  double cos, sin;
};
// Angle reduced by quarter turns (pi / 2 in three parts), then Taylor series of sine and cosine.
CosSin own_cos_sin(double a) {
  const double n = std::nearbyint(a * 0.6366197723675814);
  const double r = ((a - n * 1.57079632673412561417e+00) - n * 6.07710050630396597660e-11) - n * 2.02226624879595063154e-21;
  const double z = r * r;
  double s = 0, c = 0;
  for (int k = 21; k >= 3; k -= 2) s = (1 + s) * (-z / (k * (k - 1)));
  for (int k = 22; k >= 2; k -= 2) c = (1 + c) * (-z / (k * (k - 1)));
  const double sine = r * (1 + s), cosine = 1 + c;
  switch (static_cast<std::int64_t>(n) & 3) {
    case 0: return {cosine, sine};
    case 1: return {-sine, cosine};
    case 2: return {-cosine, -sine};
    default: return {sine, -cosine};
  }
}

}  // namespace

Tensor rope_table(std::int64_t positions, int rot, double base, double factor, std::span<const float> divisors, int threads) {
  constexpr std::int64_t kGrain = 256;  // positions of one work item
  const std::int64_t half = rot / 2;
  Tensor t = Tensor::empty({positions, half, 2});
  float* out = t.data<float>();
  const double log_base = own_log(base);
  std::vector<double> frequencies;
  for (std::int64_t i = 0; i < half; ++i) {
    const double f = own_exp(-log_base * (2.0 * static_cast<double>(i) / rot)) / factor;
    frequencies.push_back(divisors.empty() ? f : f / static_cast<double>(divisors[static_cast<std::size_t>(i)]));
  }
  parallel_for(threads, positions, kGrain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t p = begin; p < end; ++p)
      for (std::int64_t i = 0; i < half; ++i) {
        const CosSin cs = own_cos_sin(static_cast<double>(p) * frequencies[static_cast<std::size_t>(i)]);
        float* at = out + (p * half + i) * 2;
        at[0] = static_cast<float>(cs.cos);
        at[1] = static_cast<float>(cs.sin);
      }
  });
  return t;
}

}  // namespace hz::model
