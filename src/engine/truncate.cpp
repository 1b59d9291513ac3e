// SPDX-License-Identifier: Apache-2.0
// Stages that thin out the candidates, and temperature.
#include <algorithm>
#include <cmath>
#include <limits>

#include "src/engine/exact_math.hpp"
#include "src/engine/stages.hpp"

namespace hz::engine {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr double kLn2 = 0x1.62e42fefa39efp-1;

// Entropy in nats of weights whose sum is `total`: log total - sum(w log w) / total.
double entropy_of(std::span<const float> weights, double total) {
  double lane[16] = {};
  for (std::size_t i = 0; i < weights.size(); ++i)
    if (weights[i] > 0) lane[i % 16] += static_cast<double>(weights[i]) * log64(static_cast<double>(weights[i]));
  for (std::size_t width = 8; width > 0; width /= 2)
    for (std::size_t j = 0; j < width; ++j) lane[j] += lane[j + width];
  return std::max(0.0, log64(total) - lane[0] / total);
}

}  // namespace

void keep_min_p(Candidates& c, float share, std::size_t keep) {
  if (share <= 0) return;
  c.keep_at_least(static_cast<double>(c.max()) + log64(static_cast<double>(share)) / static_cast<double>(c.scale()), keep);
}

void keep_top_n_sigma(Candidates& c, float n, std::size_t keep) {
  if (n <= 0) return;
  double lane[2][16] = {};
  double count = 0;
  const auto fold = [](double* l) {
    for (std::size_t width = 8; width > 0; width /= 2)
      for (std::size_t j = 0; j < width; ++j) l[j] += l[j + width];
    return l[0];
  };
  const auto for_each_logit = [&](auto&& f) {
    std::size_t i = 0;
    if (c.dense()) {
      for (const float x : c.logits()) f(x, i++);
    } else {
      for (const Candidate& x : c.list()) f(x.logit, i++);
    }
  };
  for_each_logit([&](float x, std::size_t i) {
    if (x == -kInf) return;
    lane[0][i % 16] += static_cast<double>(x);
    count += 1;
  });
  if (count == 0) return;
  const double mean = fold(lane[0]) / count;
  for_each_logit([&](float x, std::size_t i) {
    const double d = static_cast<double>(x) - mean;
    if (x != -kInf) lane[1][i % 16] += d * d;
  });
  const double sigma = std::sqrt(fold(lane[1]) / count);
  c.keep_at_least(static_cast<double>(c.max()) - static_cast<double>(n) * sigma, keep);
}

void keep_typical(Candidates& c, float share, std::size_t keep) {
  if (share >= 1) return;
  const double total = c.total(), log_total = log64(total);
  const double entropy = entropy_of(c.weights(), total);
  struct Ranked {
    double distance;
    Candidate token;
  };
  std::vector<Ranked> ranked;
  const auto add = [&](Candidate t) {
    if (t.logit > -kInf) ranked.push_back({std::abs(-c.log_probability(t.logit, log_total) - entropy), t});
  };
  if (c.dense()) {
    for (std::size_t i = 0; i < c.logits().size(); ++i) add({c.logits()[i], static_cast<std::int32_t>(i)});
  } else {
    for (const Candidate& t : c.list()) add(t);
  }
  const auto nearer = [](const Ranked& a, const Ranked& b) {
    return a.distance < b.distance || (a.distance == b.distance && before(a.token, b.token));
  };
  const float max = c.max();
  const double wanted = static_cast<double>(share) * total;
  std::vector<Candidate> kept;
  double mass = 0;
  std::size_t sorted = 0;
  while (kept.size() < ranked.size() && (mass < wanted || kept.size() < keep)) {
    if (kept.size() == sorted) {  // bring the next stretch into order
      const std::size_t next = std::min(ranked.size(), std::max<std::size_t>(128, 4 * sorted));
      const auto from = ranked.begin() + static_cast<std::ptrdiff_t>(sorted), to = ranked.begin() + static_cast<std::ptrdiff_t>(next);
      if (next < ranked.size()) std::nth_element(from, to, ranked.end(), nearer);
      std::sort(from, to, nearer);
      sorted = next;
    }
    const Candidate& t = ranked[kept.size()].token;
    mass += static_cast<double>(exp_weight(t.logit, max, c.scale()));
    kept.push_back(t);
  }
  c.keep_list(std::move(kept));
}

void exclude_top_choices(Candidates& c, float threshold, std::size_t keep) {
  const double floor = static_cast<double>(threshold) * c.total();
  const float max = c.max();
  // Tokens of at least this probability: a prefix of at most 1 / threshold tokens, or of all when it is tiny.
  std::size_t above = 0;
  std::span<const Candidate> prefix;
  for (const std::size_t reach : {std::size_t{128}, c.size()}) {
    prefix = c.first(reach);
    above = 0;
    while (above < prefix.size() && static_cast<double>(exp_weight(prefix[above].logit, max, c.scale())) >= floor) ++above;
    if (above < prefix.size() || prefix.size() < reach || reach >= c.size()) break;
  }
  if (above < 2) return;
  const std::size_t out = above - 1;
  if (c.dense()) {
    const std::vector<Candidate> gone(prefix.begin(), prefix.begin() + static_cast<std::ptrdiff_t>(out));
    if (c.size() < out + keep) return;
    const std::span<float> logits = c.writable();
    for (const Candidate& t : gone) logits[static_cast<std::size_t>(t.id)] = -kInf;
    c.touched();
  } else if (c.size() >= out + keep) {
    c.list().erase(c.list().begin(), c.list().begin() + static_cast<std::ptrdiff_t>(out));
  }
}

void apply_temperature(Candidates& c, const SamplingOptions& options) {
  double t = static_cast<double>(options.temperature);
  if (options.dynatemp_range > 0) {
    const double low = std::max(0.0, t - static_cast<double>(options.dynatemp_range)),
                 high = t + static_cast<double>(options.dynatemp_range);
    double count = 0;
    for (const float w : c.weights()) count += w > 0 ? 1 : 0;
    if (count < 2) return;
    const double share = std::min(1.0, entropy_of(c.weights(), c.total()) / log64(count));
    t = low + (high - low) * pow64(share, static_cast<double>(options.dynatemp_exponent));
    if (t <= 0) return c.keep_top(1);
  }
  c.divide_by(t);
}

void keep_mirostat(Candidates& c, float mu) {
  const double log_total = log64(c.total());
  c.keep_at_least(static_cast<double>(c.max()) + (log_total - static_cast<double>(mu) * kLn2) / static_cast<double>(c.scale()), 1);
}

}  // namespace hz::engine
