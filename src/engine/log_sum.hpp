// SPDX-License-Identifier: Apache-2.0
// The normaliser of a softmax, for measures (not part of the numerics contract).
#pragma once
#include <algorithm>
#include <cmath>
#include <span>

namespace hz {

// log of the sum of e^logit, in double.
inline double log_sum(std::span<const float> logits) {
  const double top = *std::max_element(logits.begin(), logits.end());
  double s = 0;
  for (const float x : logits) s += std::exp(x - top);
  return top + std::log(s);
}

}  // namespace hz
