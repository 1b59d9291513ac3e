// SPDX-License-Identifier: Apache-2.0
// Losses of elements and of log-probabilities.
#include "hanzo/nn/losses.hpp"

#include <algorithm>
#include <cmath>

#include "src/nn/loss.hpp"

namespace hz::nn {

namespace loss {

void scale_in_place(Tensor& t, float s) {
  if (s == 1.0f) return;
  for (float& v : t.span<float>()) v *= s;
}

Tensor result(std::string_view op, double value, const Tensor& x, Tensor dx) {
  Tensor y = Tensor::empty({1}, DType::f32, x.device());
  y.data<float>()[0] = static_cast<float>(value);
  if (Tape* tape = autograd::recording({autograd::id_of(x)}))
    autograd::record(tape, op, {autograd::id_of(x)}, y, [dx](Backward& g) mutable {
      scale_in_place(dx, g.dy().item());
      g.give(0, dx);
    });
  return y;
}

}  // namespace loss

namespace {

using loss::bad;

struct Term {
  double value, slope;  // of one element's loss, by its input
};

// Sum or mean over elements of f(input, target).
template <class F>
Tensor elementwise(std::string_view op, const Tensor& input, const Tensor& target, Reduction reduction, F f) {
  if (!(input.shape() == target.shape())) bad(op, "shapes " + to_string(input.shape()) + " and " + to_string(target.shape()) + " differ");
  const auto x = input.span<const float>(), t = target.span<const float>();
  Tensor dx = loss::wanted(input) ? Tensor::empty(input.shape(), DType::f32, input.device()) : Tensor();
  const double share = reduction == Reduction::sum || x.empty() ? 1.0 : 1.0 / static_cast<double>(x.size());
  double sum = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const Term term = f(static_cast<double>(x[i]), static_cast<double>(t[i]));
    sum += term.value;
    if (dx.defined()) dx.data<float>()[i] = static_cast<float>(term.slope * share);
  }
  return loss::result(op, sum * share, input, dx);
}

struct LogRow {
  double top = 0, log_sum = 0;  // log(sum e^x) = top + log_sum
};
LogRow log_row(std::span<const float> x) {
  LogRow r{static_cast<double>(*std::max_element(x.begin(), x.end())), 0};
  for (const float v : x) r.log_sum += std::exp(static_cast<double>(v) - r.top);
  r.log_sum = std::log(r.log_sum);
  return r;
}

}  // namespace

Tensor nll(const Tensor& log_probs, std::span<const std::int32_t> targets, Reduction reduction, std::int32_t ignore_index) {
  const std::int64_t rows = log_probs.rows(), classes = log_probs.cols();
  if (static_cast<std::int64_t>(targets.size()) != rows)
    bad("nll", std::to_string(targets.size()) + " targets for " + std::to_string(rows) + " rows");
  double sum = 0;
  std::int64_t counted = 0;
  for (std::size_t i = 0; i < targets.size(); ++i) {
    if (targets[i] == ignore_index) continue;
    if (targets[i] < 0 || targets[i] >= classes)
      bad("nll", "target " + std::to_string(targets[i]) + " of " + std::to_string(classes) + " classes");
    sum -= static_cast<double>(log_probs.span<const float>()[i * static_cast<std::size_t>(classes) + static_cast<std::size_t>(targets[i])]);
    ++counted;
  }
  const double share = reduction == Reduction::sum ? 1.0 : counted == 0 ? 0.0 : 1.0 / static_cast<double>(counted);
  Tensor dx;
  if (loss::wanted(log_probs)) {
    dx = Tensor::zeros(log_probs.shape(), DType::f32, log_probs.device());
    for (std::size_t i = 0; i < targets.size(); ++i)
      if (targets[i] != ignore_index) dx.data<float>()[static_cast<std::int64_t>(i) * classes + targets[i]] = static_cast<float>(-share);
  }
  return loss::result("nll", sum * share, log_probs, dx);
}

Tensor mse(const Tensor& input, const Tensor& target, Reduction reduction) {
  return elementwise("mse", input, target, reduction, [](double x, double t) { return Term{(x - t) * (x - t), 2 * (x - t)}; });
}

Tensor bce_with_logits(const Tensor& logits, const Tensor& target, Reduction reduction) {
  return elementwise("bce_with_logits", logits, target, reduction, [](double x, double t) {
    const double e = std::exp(-std::fabs(x)), sigmoid = x >= 0 ? 1 / (1 + e) : e / (1 + e);
    return Term{std::max(x, 0.0) - x * t + std::log1p(e), sigmoid - t};
  });
}

Tensor huber(const Tensor& input, const Tensor& target, float delta, Reduction reduction) {
  if (!(delta > 0)) bad("huber", "a delta of " + std::to_string(delta) + " is not positive");
  const double width = static_cast<double>(delta);
  return elementwise("huber", input, target, reduction, [width](double x, double t) {
    const double d = x - t;
    return std::fabs(d) <= width ? Term{d * d / 2, d} : Term{width * (std::fabs(d) - width / 2), d < 0 ? -width : width};
  });
}

Tensor kl_divergence(const Tensor& logits, const Tensor& target, Reduction reduction) {
  if (!(logits.shape() == target.shape()))
    bad("kl_divergence", "shapes " + to_string(logits.shape()) + " and " + to_string(target.shape()) + " differ");
  const auto classes = static_cast<std::size_t>(logits.cols());
  const auto rows = static_cast<std::size_t>(logits.rows());
  Tensor dx = loss::wanted(logits) ? Tensor::empty(logits.shape(), DType::f32, logits.device()) : Tensor();
  const double share = reduction == Reduction::sum || rows == 0 ? 1.0 : 1.0 / static_cast<double>(rows);
  double sum = 0;
  for (std::size_t i = 0; i < rows; ++i) {
    const auto q = logits.span<const float>().subspan(i * classes, classes), p = target.span<const float>().subspan(i * classes, classes);
    const LogRow of_q = log_row(q), of_p = log_row(p);
    for (std::size_t j = 0; j < classes; ++j) {
      const double log_q = static_cast<double>(q[j]) - of_q.top - of_q.log_sum, log_p = static_cast<double>(p[j]) - of_p.top - of_p.log_sum,
                   prob = std::exp(log_p);
      if (prob > 0) sum += prob * (log_p - log_q);
      if (dx.defined()) dx.data<float>()[i * classes + j] = static_cast<float>((std::exp(log_q) - prob) * share);
    }
  }
  return loss::result("kl_divergence", sum * share, logits, dx);
}

}  // namespace hz::nn
