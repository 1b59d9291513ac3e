// SPDX-License-Identifier: Apache-2.0
// What a generation is asked for, checked before a model is needed; names of the reasons to finish.
#include "src/engine/generate_options.hpp"
#include "hanzo/engine/generator.hpp"

namespace hz {

SamplingOptions engine::sampling_of(const GenerateOptions& o) {
  SamplingOptions s = o.sampling;
  if (o.temperature) s.temperature = *o.temperature;
  if (o.top_k) s.top_k = *o.top_k;
  if (o.top_p) s.top_p = *o.top_p;
  if (o.min_p) s.min_p = *o.min_p;
  if (o.seed) s.seed = *o.seed;
  return s;
}

void GenerateOptions::validate() const {
  engine::sampling_of(*this).validate();
  if (max_tokens < -1)
    throw Error(ErrorKind::usage, "max_tokens is " + std::to_string(max_tokens) + "; it must be -1 (no limit) or a number of tokens",
                "generation options");
  if (logprobs && *logprobs < 0)
    throw Error(ErrorKind::usage, "logprobs is " + std::to_string(*logprobs) + "; it must be 0 or more", "generation options");
  const StopMatcher checked(stop_strings);
}

std::string_view name_of(FinishReason reason) {
  switch (reason) {
    case FinishReason::turn_end:
    case FinishReason::stop_string: return "stop";
    case FinishReason::length: return "length";
    case FinishReason::interrupted: return "interrupted";
    case FinishReason::none: break;
  }
  return "none";
}

}  // namespace hz
