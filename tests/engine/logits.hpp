// SPDX-License-Identifier: Apache-2.0
// Random logits for the sampling tests.
#pragma once
#include <cstddef>
#include <limits>
#include <random>
#include <vector>

namespace hz::test {

inline constexpr float kNegInf = -std::numeric_limits<float>::infinity();

// Roughly normal. coarse: few distinct values, so that many are equal; holes: some are -infinity.
inline std::vector<float> random_logits(std::mt19937& random, std::size_t n, float sigma = 3, bool coarse = false, bool holes = false) {
  std::normal_distribution<float> normal(0, sigma);
  std::vector<float> x(n);
  for (float& v : x) {
    v = normal(random);
    if (coarse) v = static_cast<float>(static_cast<int>(v));
    if (holes && random() % 4 == 0) v = kNegInf;
  }
  if (holes) x[random() % n] = 0;
  return x;
}

}  // namespace hz::test
