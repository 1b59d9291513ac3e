// SPDX-License-Identifier: Apache-2.0
// GenerateOptions as the sampler takes them.
#pragma once
#include "hanzo/engine/generator.hpp"

namespace hz::engine {

// `sampling`, with the fields that are set outside of it in place of its own.
SamplingOptions sampling_of(const GenerateOptions& options);

}  // namespace hz::engine
