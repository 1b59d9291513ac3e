// SPDX-License-Identifier: Apache-2.0
#include "hanzo/engine/evaluate.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

namespace hz {
namespace {

// log of the sum of e^logit, in double.
double log_sum(std::span<const float> logits) {
  const double top = *std::max_element(logits.begin(), logits.end());
  double s = 0;
  for (const float x : logits) s += std::exp(x - top);
  return top + std::log(s);
}

std::size_t windows_of(std::span<const std::int32_t> ids, const EvaluateOptions& o) {
  if (o.window < 4) throw Error(ErrorKind::usage, "a window of " + std::to_string(o.window) + " tokens is too small", "", "use at least 4");
  const auto count = ids.size() / static_cast<std::size_t>(o.window);
  if (count == 0)
    throw Error(ErrorKind::usage, "the text has " + std::to_string(ids.size()) + " tokens, one window needs " + std::to_string(o.window), "", "give a longer text or a smaller -c");
  return count;
}

// Calls row(position, logits) for each scored position of the window, ascending.
void each_scored(const Model& model, std::span<const std::int32_t> window, const EvaluateOptions& o, const std::function<void(std::size_t, std::span<const float>)>& row) {
  auto kv = model.new_sequence();
  const std::size_t first = window.size() / 2;
  const auto step = static_cast<std::size_t>(std::max<std::int64_t>(1, o.ubatch));
  for (std::size_t at = 0; at < window.size();) {
    const std::size_t end = std::min(window.size(), at < first ? std::min(first, at + step) : at + step);
    const SequenceChunk chunk{&kv, window.subspan(at, end - at)};
    const Tensor logits = model.forward({&chunk, 1}, at < first ? LogitRows::none : LogitRows::all, o.progress.stop);
    for (std::size_t i = at; at >= first && i < std::min(end, window.size() - 1); ++i)
      row(i, logits.span<float>().subspan((i - at) * static_cast<std::size_t>(logits.cols()), static_cast<std::size_t>(logits.cols())));
    at = end;
  }
}

std::vector<std::int32_t> window_at(std::span<const std::int32_t> ids, std::size_t index, const EvaluateOptions& o) {
  const auto part = ids.subspan(index * static_cast<std::size_t>(o.window), static_cast<std::size_t>(o.window));
  std::vector<std::int32_t> w(part.begin(), part.end());
  if (o.bos >= 0) w[0] = o.bos;
  return w;
}

}  // namespace

Perplexity perplexity(const Model& model, std::span<const std::int32_t> ids, const EvaluateOptions& o) {
  Perplexity p;
  double sum = 0, squares = 0;
  const std::size_t count = windows_of(ids, o);
  for (std::size_t i = 0; i < count; ++i) {
    o.progress.check("measuring perplexity");
    const auto w = window_at(ids, i, o);
    each_scored(model, w, o, [&](std::size_t at, std::span<const float> logits) {
      const double nll = log_sum(logits) - logits[static_cast<std::size_t>(w[at + 1])];
      sum += nll;
      squares += nll * nll;
      ++p.scored;
    });
    o.progress("measuring perplexity", i + 1, count);
  }
  const auto n = static_cast<double>(p.scored);
  const double mean = sum / n, variance = std::max(0.0, squares / n - mean * mean);
  p.value = std::exp(mean);
  p.uncertainty = p.value * std::sqrt(variance / std::max(1.0, n - 1));
  p.windows = static_cast<std::int64_t>(count);
  return p;
}

Agreement agreement(const Model& base, const Model& other, std::span<const std::int32_t> ids, const EvaluateOptions& o) {
  Agreement a;
  std::int64_t same = 0;
  double sum = 0;
  const std::size_t count = windows_of(ids, o);
  for (std::size_t i = 0; i < count; ++i) {
    o.progress.check("comparing");
    const auto w = window_at(ids, i, o);
    std::vector<std::vector<float>> rows;
    each_scored(base, w, o, [&](std::size_t, std::span<const float> logits) { rows.emplace_back(logits.begin(), logits.end()); });
    std::size_t next = 0;
    each_scored(other, w, o, [&](std::size_t, std::span<const float> q) {
      const std::vector<float>& p = rows[next++];
      const double zp = log_sum(p), zq = log_sum(q);
      double kl = 0;
      for (std::size_t j = 0; j < p.size(); ++j) kl += std::exp(p[j] - zp) * ((p[j] - zp) - (q[j] - zq));
      sum += kl;
      a.kl_max = std::max(a.kl_max, kl);
      same += std::max_element(p.begin(), p.end()) - p.begin() == std::max_element(q.begin(), q.end()) - q.begin();
      ++a.scored;
    });
    o.progress("comparing", i + 1, count);
  }
  a.kl_mean = sum / static_cast<double>(a.scored);
  a.top1 = static_cast<double>(same) / static_cast<double>(a.scored);
  return a;
}

}  // namespace hz
