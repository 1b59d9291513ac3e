// SPDX-License-Identifier: Apache-2.0
#include "hanzo/engine/sample.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "hanzo/core/error.hpp"
#include "hanzo/core/random.hpp"
#include "hanzo/engine/generator.hpp"

namespace hz {
namespace {

struct Candidate {
  float logit;
  std::int32_t id;
  double p;
};
bool before(const Candidate& a, const Candidate& b) { return a.logit > b.logit || (a.logit == b.logit && a.id < b.id); }

std::int32_t greedy(std::span<const float> logits) {
  std::size_t best = 0;
  for (std::size_t i = 1; i < logits.size(); ++i)
    if (logits[i] > logits[best]) best = i;
  return static_cast<std::int32_t>(best);
}

// Probabilities of sorted candidates at a temperature.
void soften(std::vector<Candidate>& c, double temperature) {
  double sum = 0;
  for (Candidate& x : c) sum += x.p = std::exp((static_cast<double>(x.logit) - c[0].logit) / temperature);
  for (Candidate& x : c) x.p /= sum;
}

}  // namespace

std::int32_t sample(std::span<const float> logits, const GenerateOptions& o, std::uint64_t seed, std::int64_t position) {
  for (const float x : logits)
    if (std::isnan(x)) throw Error(ErrorKind::numeric, "a logit is NaN");
  if (!(o.temperature > 0) || o.top_k == 1) return greedy(logits);
  std::vector<Candidate> c;
  c.reserve(logits.size());
  for (std::size_t i = 0; i < logits.size(); ++i) c.push_back({logits[i], static_cast<std::int32_t>(i), 0});
  const std::size_t k = o.top_k > 0 ? std::min(c.size(), static_cast<std::size_t>(o.top_k)) : c.size();
  std::partial_sort(c.begin(), c.begin() + static_cast<std::ptrdiff_t>(k), c.end(), before);
  c.resize(k);
  soften(c, 1.0);
  std::size_t keep = 0;
  for (double sum = 0; keep < c.size() && (keep == 0 || sum < o.top_p); ++keep) sum += c[keep].p;
  c.resize(keep);
  while (c.size() > 1 && c.back().p < static_cast<double>(o.min_p) * c[0].p) c.pop_back();
  soften(c, o.temperature);
  double u = uniform(seed, 0, static_cast<std::uint64_t>(position));
  for (const Candidate& x : c) {
    if (u < x.p) return x.id;
    u -= x.p;
  }
  return c.back().id;
}

}  // namespace hz
