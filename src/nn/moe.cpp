// SPDX-License-Identifier: Apache-2.0
#include "hanzo/nn/moe.hpp"

#include <algorithm>
#include <numeric>

#include "hanzo/autograd/record.hpp"
#include "hanzo/nn/observe.hpp"

namespace hz::nn {
namespace {

// w = p_e, or p_e / sum over the chosen: dp_e = dw_e, or (dw_e - sum(w dw)) / sum. The choice itself has no gradient.
std::function<void(Backward&)> route_backward(const Routing& routing, const Tensor& p, bool normalised) {
  return [w = Saved(routing.weights), experts = routing.experts, p = Saved(p), normalised, used = routing.used](Backward& g) {
    Tensor dp = Tensor::zeros(p.get().shape(), DType::f32, p.get().device());
    for (std::int64_t t = 0; t < dp.rows(); ++t) {
      const float *dw = g.dy().data<float>() + t * used, *weights = w.get().data<float>() + t * used,
                  *row = p.get().data<float>() + t * dp.cols();
      float sum = 0, dot = 0;
      for (std::int64_t i = 0; i < used; ++i) {
        sum += row[experts[static_cast<std::size_t>(t * used + i)]];
        dot += weights[i] * dw[i];
      }
      for (std::int64_t i = 0; i < used; ++i)
        dp.data<float>()[t * dp.cols() + experts[static_cast<std::size_t>(t * used + i)]] = normalised ? (dw[i] - dot) / sum : dw[i];
    }
    g.give(0, dp);
  };
}

// y[token] = sum of w_i rows_i: drows_i = w_i dy[token], dw_i = dy[token] . rows_i.
std::function<void(Backward&)> combine_backward(const Tensor& rows, const Routing& routing) {
  return [rows = Saved(rows), w = Saved(routing.weights), used = routing.used](Backward& g) {
    const Tensor& r = rows.get();
    Backend& backend = backend_of(r);
    Tensor spread = Tensor::empty(r.shape(), DType::f32, r.device()), drows = Tensor::empty(r.shape(), DType::f32, r.device());
    for (std::int64_t i = 0; i < r.rows(); ++i) {
      std::copy_n(g.dy().data<float>() + i / used * r.cols(), r.cols(), spread.data<float>() + i * r.cols());
      Tensor out = drows.row(i);
      backend.scale(spread.row(i), w.get().data<float>()[i], out);
    }
    g.give(0, drows);
    if (!g.wants(1)) return;
    Tensor dw = Tensor::empty(w.get().shape(), DType::f32, r.device());
    backend.row_dot(spread, r, dw);
    g.give(1, dw);
  };
}

}  // namespace

Routing route(const Tensor& p, int used, bool normalised) {
  const std::int64_t tokens = p.rows(), count = p.cols();
  if (used < 1 || used > count)
    throw Error(ErrorKind::usage, "[route] " + std::to_string(used) + " of " + std::to_string(count) + " experts");
  Routing r;
  r.used = used;
  const Tensor seen = p.to({});  // the choice is the host's: it makes the lists of rows
  Tensor weights = Tensor::empty({tokens, used});
  std::vector<std::int32_t> order(static_cast<std::size_t>(count));
  for (std::int64_t t = 0; t < tokens; ++t) {
    const float* row = seen.data<float>() + t * count;
    std::iota(order.begin(), order.end(), 0);
    std::partial_sort(order.begin(), order.begin() + used, order.end(),
                      [row](std::int32_t a, std::int32_t b) { return row[a] > row[b] || (row[a] == row[b] && a < b); });
    std::sort(order.begin(), order.begin() + used);
    float sum = 0;
    for (int i = 0; i < used; ++i) sum += row[order[static_cast<std::size_t>(i)]];
    for (int i = 0; i < used; ++i) {
      const std::int32_t e = order[static_cast<std::size_t>(i)];
      r.tokens.push_back(static_cast<std::int32_t>(t));
      r.experts.push_back(e);
      r.rows.push_back(static_cast<std::int32_t>(t * used + i));
      weights.data<float>()[t * used + i] = normalised ? row[e] / sum : row[e];
    }
  }
  r.weights = weights.to(p.device());
  if (Tape* tape = autograd::recording({p.grad_id()}))
    autograd::record(tape, "route", {p.grad_id()}, r.weights, route_backward(r, p, normalised));
  return r;
}

Tensor apply_experts(const QTensor& w, const Activation& x, std::span<const std::int32_t> x_rows, std::span<const std::int32_t> experts,
                     Activations mode) {
  if (w.shape().rank() != 3 || w.cols() != x.x().cols())
    throw Error(ErrorKind::usage, "[expert_linear] weight " + w.name() + " " + to_string(w.shape()) + " needs x with " +
                                      std::to_string(w.cols()) + " columns, got " + std::to_string(x.x().cols()));
  Tensor y = Tensor::empty({static_cast<std::int64_t>(x_rows.size()), w.shape()[1]}, DType::f32, x.x().device());
  if (Observer* observer = current_observer()) observer->see_experts(w.name(), w.shape()[0], x.x(), x_rows, experts);
  ExpertJob job{.w = &w, .x = &x.x(), .x_rows = x_rows, .experts = experts, .y = &y};
  if (mode == Activations::int8 && !quant::info(w.wtype()).floating) job.q = &x.q();
  backend_of(x.x()).expert_linear(job);
  if (Tape* tape = autograd::recording({x.grad_id()})) {
    auto backward = [w, shape = x.x().shape(), device = y.device(), rows = std::vector<std::int32_t>(x_rows.begin(), x_rows.end()),
                     ids = std::vector<std::int32_t>(experts.begin(), experts.end())](Backward& g) {
      Tensor dx = Tensor::empty(shape, DType::f32, device);
      backend_of(dx).expert_input_grad({&w, &g.dy(), rows, ids}, dx);
      g.give(0, dx);
    };
    autograd::record(tape, "expert_linear", {x.grad_id()}, y, std::move(backward));
  }
  return y;
}

Tensor combine(const Tensor& rows, const Routing& routing) {
  Tensor y = Tensor::empty({routing.weights.size(0), rows.cols()}, DType::f32, rows.device());
  backend_of(rows).weighted_sum(rows, routing.weights, y);
  if (Tape* tape = autograd::recording({rows.grad_id(), routing.weights.grad_id()}))
    autograd::record(tape, "combine", {rows.grad_id(), routing.weights.grad_id()}, y, combine_backward(rows, routing));
  return y;
}

}  // namespace hz::nn
