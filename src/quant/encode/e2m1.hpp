// SPDX-License-Identifier: Apache-2.0
// The nearest E2M1 code, for MXFP4 and NVFP4.
#pragma once
#include <cmath>

#include "hanzo/quant/format/mxfp4.h"

namespace hz::quant {

// The code whose value, times d, is nearest to x; of equals the smallest code.
inline int nearest_e2m1(float x, float d) {
  int best = 0;
  float least = std::fabs(x);
  for (int code = 1; code < 16; ++code) {
    const float error = std::fabs(static_cast<float>(e2m1_doubled().at[code]) * d - x);
    if (error < least) {
      least = error;
      best = code;
    }
  }
  return best;
}

}  // namespace hz::quant
