// SPDX-License-Identifier: Apache-2.0
// The sampler's exponential and logarithm against the platform's, their edges, and the order of sums.
#include "src/engine/exact_math.hpp"

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "tests/catch.hpp"

using namespace hz::engine;

namespace {
double ulps(double a, double b) {
  if (a == b) return 0;
  return std::abs(a - b) / (std::abs(std::nextafter(b, 1e308) - b));
}
}  // namespace

TEST_CASE("exp64 and log64 are within 2 ulp", "[engine]") {
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> wide(-700, 700), near(-1, 1);
  double worst_exp = 0, worst_log = 0;
  for (int i = 0; i < 200000; ++i) {
    const double x = i % 2 ? wide(random) : near(random);
    worst_exp = std::max(worst_exp, ulps(exp64(x), std::exp(x)));
    const double y = i % 2 ? std::exp(wide(random)) : 1 + near(random) / 2;
    worst_log = std::max(worst_log, ulps(log64(y), std::log(y)));
  }
  CHECK(worst_exp <= 2);
  CHECK(worst_log <= 2);
}

TEST_CASE("exp64 and log64 at their edges", "[engine]") {
  const double inf = std::numeric_limits<double>::infinity();
  CHECK(exp64(0) == 1);
  CHECK(exp64(-709) == 0);
  CHECK(exp64(-inf) == 0);
  CHECK(exp64(710) == inf);
  CHECK(std::isfinite(exp64(709)));
  CHECK(log64(1) == 0);
  CHECK(log64(0) == -inf);
  CHECK(log64(inf) == inf);
  CHECK(log64(5e-324) == Approx(std::log(5e-324)));
  CHECK(pow64(0, 0) == 1);
  CHECK(pow64(0, 2) == 0);
  CHECK(pow64(0.25, 0.5) == Approx(0.5));
}

TEST_CASE("weights are exactly 1 at the greatest logit and 0 far below", "[engine]") {
  const float inf = std::numeric_limits<float>::infinity();
  CHECK(exp_weight(7.25f, 7.25f, 1) == 1.0f);
  CHECK(exp_weight(7.25f, 7.25f, 1e30f) == 1.0f);
  CHECK(exp_weight(7.0f, 7.25f, 1e30f) == 0.0f);
  CHECK(exp_weight(-inf, 7.25f, 1e-30f) == 0.0f);
  CHECK(exp_weight(-3e38f, 3e38f, 1) == 0.0f);
  CHECK(exp_weight(-64.5f, 0, 1) == 0.0f);
  CHECK(exp_weight(-63.5f, 0, 1) > 0.0f);
  std::mt19937 random(2);
  std::vector<float> x(1003), w(1003);
  std::uniform_real_distribution<float> dist(-63, 0);
  for (float& v : x) v = dist(random);
  exp_weights(x, 0, 1, w.data());
  double worst = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    CHECK(w[i] == exp_weight(x[i], 0, 1));
    const double exact = std::exp(static_cast<double>(x[i]));
    worst = std::max(worst, std::abs(static_cast<double>(w[i]) - exact) / exact);
  }
  CHECK(worst < 4 * 0x1p-24);
}

// The same bits from every compiler, optimisation level and instruction set: the hash was recorded once.
TEST_CASE("the sampler's functions give recorded bits", "[engine]") {
  std::uint64_t hash = 14695981039346656037ull;
  const auto mix = [&](std::uint64_t v) { hash = (hash ^ v) * 1099511628211ull; };
  std::vector<float> w(4096);
  for (std::size_t i = 0; i < w.size(); ++i) {
    w[i] = -static_cast<float>(i) * 0.017f;
    mix(std::bit_cast<std::uint64_t>(exp64(static_cast<double>(i) * 0.317 - 700)));
    mix(std::bit_cast<std::uint64_t>(log64(static_cast<double>(i) * 1.37 + 1e-3)));
  }
  exp_weights(w, 0, 1.25f, w.data());
  for (const float v : w) mix(std::bit_cast<std::uint32_t>(v));
  mix(std::bit_cast<std::uint64_t>(sum16(w)));
  INFO(std::hex << hash);
  CHECK(hash == 0x7f2f9543c425e2baull);
}

TEST_CASE("sum16 adds sixteen lanes as a tree", "[engine]") {
  std::vector<float> x(37);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = 1.0f / static_cast<float>(i + 1);
  double lane[16] = {};
  for (std::size_t i = 0; i < x.size(); ++i) lane[i % 16] += static_cast<double>(x[i]);
  for (int width : {8, 4, 2, 1})
    for (int j = 0; j < width; ++j) lane[j] += lane[j + width];
  CHECK(sum16(x) == lane[0]);
  CHECK(sum16({}) == 0);
}
