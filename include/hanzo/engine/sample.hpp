// SPDX-License-Identifier: Apache-2.0
// Sampling one token from logits.
#pragma once
#include <cstdint>
#include <span>

namespace hz {

struct GenerateOptions;

// top-k, top-p, min-p, then temperature; the random number is a function of (seed, position) alone.
// Ties go to the lower id. Throws numeric when a logit is NaN.
std::int32_t sample(std::span<const float> logits, const GenerateOptions& options, std::uint64_t seed, std::int64_t position);

}  // namespace hz
