// SPDX-License-Identifier: Apache-2.0
// Exponential, logarithm and sums for sampling: fixed sequences of IEEE operations, the same bits everywhere.
#pragma once
#include <cstddef>
#include <span>

namespace hz::engine {

// e^x, within 2 ulp. 0 below -708, infinity above 709.
double exp64(double x);
// Natural logarithm, within 2 ulp. x = 0: -infinity. x >= 0.
double log64(double x);
// x^y for x >= 0 and y >= 0, as exp64(y log64(x)); 1 when y is 0, 0 when only x is.
double pow64(double x, double y);

// w[i] = e^((x[i] - max) scale), float32, about 2 ulp; +0 where the exponent is below -64 (so also for x = -infinity).
// x[i] <= max; scale > 0 and finite.
void exp_weights(std::span<const float> x, float max, float scale, float* w);
float exp_weight(float x, float max, float scale);

// Sums by the 16-lane rule (docs/numerics.md, Reductions), in lanes of double.
double sum16(std::span<const float> x);

}  // namespace hz::engine
