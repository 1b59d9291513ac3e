// SPDX-License-Identifier: Apache-2.0
// Rope tables: cosine and sine of position * frequency, made in double precision by our own functions.
#pragma once
#include <span>

#include "hanzo/core/tensor.hpp"

namespace hz::model {

// F32 [positions, rot / 2, 2] (cos, sin). angle(p, i) = p / factor * base^(-2 i / rot) / divisors[i];
// divisors: rot / 2 values (rope_freqs.weight) or empty.
Tensor rope_table(std::int64_t positions, int rot, double base, double factor, std::span<const float> divisors, int threads = 1);

}  // namespace hz::model
