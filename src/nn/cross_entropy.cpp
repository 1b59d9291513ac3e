// SPDX-License-Identifier: Apache-2.0
// Cross entropy, whole and in chunks of rows.
#include <algorithm>
#include <cmath>
#include <vector>

#include "hanzo/backend/backend.hpp"
#include "hanzo/core/parallel.hpp"
#include "hanzo/nn/losses.hpp"
#include "src/nn/loss.hpp"

namespace hz::nn {
namespace {

using loss::bad;

// Rows that count: their targets are checked, their weights known.
struct Counted {
  std::vector<std::int32_t> rows, targets;
  std::vector<double> weights;
  double total = 0;  // of the weights

  Counted(std::int64_t all_rows, std::span<const std::int32_t> all, const CrossEntropyOptions& o) {
    if (static_cast<std::int64_t>(all.size()) != all_rows)
      bad("cross_entropy", std::to_string(all.size()) + " targets for " + std::to_string(all_rows) + " rows");
    if (!o.weights.empty() && o.weights.size() != all.size())
      bad("cross_entropy", std::to_string(o.weights.size()) + " weights for " + std::to_string(all_rows) + " rows");
    if (!(o.label_smoothing >= 0 && o.label_smoothing < 1)) bad("cross_entropy", "label smoothing is not in [0, 1)");
    for (std::size_t i = 0; i < all.size(); ++i) {
      const double w = o.weights.empty() ? 1.0 : static_cast<double>(o.weights[i]);
      if (all[i] == o.ignore_index || w == 0) continue;
      rows.push_back(static_cast<std::int32_t>(i));
      targets.push_back(all[i]);
      weights.push_back(w);
      total += w;
    }
  }
  double share(Reduction reduction) const { return reduction == Reduction::sum ? 1.0 : total == 0 ? 0.0 : 1.0 / total; }
};

// Sum of weights[i] * loss of row i of logits [n, vocab]. dx: where its gradient goes, or null; its rows are first
// softmax(logits), from which the loss is read too: the largest logit's probability is one over the sum.
double rows_loss(const Tensor& logits, std::span<const std::int32_t> targets, std::span<const double> weights, double share,
                 const CrossEntropyOptions& o, Tensor* dx) {
  const std::int64_t rows = logits.rows(), vocab = logits.cols();
  Tensor p = dx != nullptr ? *dx : Tensor::empty(logits.shape(), DType::f32, logits.device());
  backend_of(logits).softmax(logits, p);
  std::vector<double> losses(static_cast<std::size_t>(rows));
  const double smooth = static_cast<double>(o.label_smoothing);
  parallel_for(o.threads > 0 ? o.threads : default_threads(), rows, 4, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const auto r = static_cast<std::size_t>(i);
      const float* x = logits.data<float>() + i * vocab;
      float* q = p.data<float>() + i * vocab;
      const auto top = std::max_element(x, x + vocab) - x;
      const double log_sum = static_cast<double>(x[top]) - std::log(static_cast<double>(q[top]));
      double nll = log_sum - static_cast<double>(x[targets[r]]);
      if (smooth > 0) {
        double sum = 0;
        for (std::int64_t j = 0; j < vocab; ++j) sum += static_cast<double>(x[j]);
        nll = (1 - smooth) * nll + smooth * (log_sum - sum / static_cast<double>(vocab));
      }
      losses[r] = weights[r] * nll;
      if (dx == nullptr) continue;
      const auto w = static_cast<float>(weights[r] * share), rest = static_cast<float>(smooth / static_cast<double>(vocab));
      const float at_target = q[targets[r]] - static_cast<float>(1 - smooth) - rest;
      for (std::int64_t j = 0; j < vocab; ++j) q[j] = (q[j] - rest) * w;
      q[targets[r]] = at_target * w;
    }
  });
  double sum = 0;
  for (const double l : losses) sum += l;
  return sum;
}

void check_targets(std::span<const std::int32_t> targets, std::int64_t vocab) {
  for (const std::int32_t t : targets)
    if (t < 0 || t >= vocab) bad("cross_entropy", "target " + std::to_string(t) + " is outside the vocabulary of " + std::to_string(vocab));
}

Tensor picked(const Tensor& x, std::span<const std::int32_t> rows) {
  Tensor y = Tensor::empty({static_cast<std::int64_t>(rows.size()), x.cols()}, DType::f32, x.device());
  for (std::size_t i = 0; i < rows.size(); ++i)
    std::copy_n(x.data<float>() + rows[i] * x.cols(), x.cols(), y.data<float>() + static_cast<std::int64_t>(i) * x.cols());
  return y;
}

void put_back(const Tensor& y, std::span<const std::int32_t> rows, Tensor& x) {
  for (std::size_t i = 0; i < rows.size(); ++i)
    std::copy_n(y.data<float>() + static_cast<std::int64_t>(i) * x.cols(), x.cols(), x.data<float>() + rows[i] * x.cols());
}

}  // namespace

Tensor cross_entropy(const Tensor& logits, std::span<const std::int32_t> targets, const CrossEntropyOptions& options) {
  const Counted counted(logits.rows(), targets, options);
  check_targets(counted.targets, logits.cols());
  const double share = counted.share(options.reduction);
  const bool all = counted.rows.size() == targets.size();
  const Tensor rows = all ? logits : picked(logits, counted.rows);
  Tensor dx;
  if (loss::wanted(logits))
    dx = all ? Tensor::empty(logits.shape(), DType::f32, logits.device()) : Tensor::zeros(logits.shape(), DType::f32, logits.device());
  Tensor of_rows = dx.defined() && !all ? Tensor::empty(rows.shape(), DType::f32, logits.device()) : dx;
  const double sum =
      counted.rows.empty() ? 0.0 : rows_loss(rows, counted.targets, counted.weights, share, options, dx.defined() ? &of_rows : nullptr);
  if (dx.defined() && !all) put_back(of_rows, counted.rows, dx);
  return loss::result("cross_entropy", sum * share, logits, dx);
}

Tensor chunked_cross_entropy(const Tensor& x, std::span<const std::int32_t> targets, const std::function<Tensor(const Tensor&)>& logits,
                             std::int64_t chunk, const CrossEntropyOptions& options) {
  if (chunk < 1) bad("chunked_cross_entropy", "a chunk of " + std::to_string(chunk) + " rows");
  const Counted counted(x.rows(), targets, options);
  const double share = counted.share(options.reduction);
  Tape* tape = Tape::active();  // variables inside `logits` may want gradients even where x does not
  Tensor dx = tape != nullptr ? Tensor::zeros(x.shape(), DType::f32, x.device()) : Tensor();
  GradStore others;
  double sum = 0;
  const auto step = static_cast<std::size_t>(chunk);
  for (std::size_t at = 0; at < counted.rows.size(); at += step) {
    const std::size_t n = std::min(step, counted.rows.size() - at);
    const auto rows = std::span(counted.rows).subspan(at, n), ids = std::span(counted.targets).subspan(at, n);
    const auto weights = std::span(counted.weights).subspan(at, n);
    const auto loss_of = [&](const Tensor& y, Tensor* dy) {
      check_targets(ids, y.cols());
      sum += rows_loss(y, ids, weights, share, options, dy);
    };
    if (tape == nullptr) {
      loss_of(logits(picked(x, rows)), nullptr);
      continue;
    }
    Tape inner(tape->options());
    const Var part(picked(x, rows));
    const Tensor y = logits(part);
    Tensor dy = Tensor::empty(y.shape(), DType::f32, y.device());
    loss_of(y, &dy);
    GradStore grads = inner.backward({&y, 1}, {&dy, 1});
    put_back(grads.take(part.id()), rows, dx);
    others.add(grads);
  }
  Tensor loss = Tensor::empty({1}, DType::f32, x.device());
  loss.data<float>()[0] = static_cast<float>(sum * share);
  if (tape == nullptr || (autograd::recording({autograd::id_of(x)}) == nullptr && others.empty())) return loss;
  autograd::record(tape, "chunked_cross_entropy", {autograd::id_of(x)}, loss, [dx, others](Backward& g) mutable {
    const float upstream = g.dy().item();
    loss::scale_in_place(dx, upstream);
    if (upstream != 1.0f) others.scale(upstream);
    g.give(0, dx);
    g.give(others);
  });
  return loss;
}

}  // namespace hz::nn
