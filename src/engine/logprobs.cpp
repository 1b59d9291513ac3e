// SPDX-License-Identifier: Apache-2.0
// Log-probabilities of the most probable tokens and of the chosen one, from the raw logits.
#include <algorithm>
#include <string>

#include "hanzo/core/error.hpp"
#include "hanzo/core/parallel.hpp"
#include "hanzo/engine/sampling.hpp"
#include "src/engine/candidates.hpp"
#include "src/engine/exact_math.hpp"

namespace hz {

Logprobs logprobs(std::span<const float> logits, std::int32_t n, std::int32_t chosen) {
  if (chosen < 0 || static_cast<std::size_t>(chosen) >= logits.size())
    throw Error(ErrorKind::usage, "token " + std::to_string(chosen) + " is not among " + std::to_string(logits.size()) + " logits",
                "logprobs");
  const IeeeMode ieee;
  engine::Candidates c;
  c.reset(logits, -1);
  if (c.greatest().id < 0) throw Error(ErrorKind::numeric, "every logit is -infinity", "logprobs");
  const double log_total = engine::log64(c.total());
  const auto logprob = [&](float logit) { return static_cast<float>(std::min(0.0, c.log_probability(logit, log_total))); };
  Logprobs result{{chosen, logprob(logits[static_cast<std::size_t>(chosen)])}, {}};
  if (n <= 0) return result;
  const auto top = c.first(static_cast<std::size_t>(n));
  result.top.reserve(top.size());
  for (const engine::Candidate& t : top) result.top.push_back({t.id, logprob(t.logit)});
  return result;
}

}  // namespace hz
