// SPDX-License-Identifier: Apache-2.0
#include "hanzo/nn/moe.hpp"

#include <algorithm>
#include <numeric>

namespace hz::nn {

Routing route(const Tensor& p, int used, bool normalised) {
  const std::int64_t tokens = p.rows(), count = p.cols();
  if (used < 1 || used > count) throw Error(ErrorKind::usage, "[route] " + std::to_string(used) + " of " + std::to_string(count) + " experts");
  Routing r;
  r.used = used;
  r.weights = Tensor::empty({tokens, used}, DType::f32, p.device());
  std::vector<std::int32_t> order(static_cast<std::size_t>(count));
  for (std::int64_t t = 0; t < tokens; ++t) {
    const float* row = p.data<float>() + t * count;
    std::iota(order.begin(), order.end(), 0);
    std::partial_sort(order.begin(), order.begin() + used, order.end(), [row](std::int32_t a, std::int32_t b) { return row[a] > row[b] || (row[a] == row[b] && a < b); });
    std::sort(order.begin(), order.begin() + used);
    float sum = 0;
    for (int i = 0; i < used; ++i) sum += row[order[static_cast<std::size_t>(i)]];
    for (int i = 0; i < used; ++i) {
      const std::int32_t e = order[static_cast<std::size_t>(i)];
      r.tokens.push_back(static_cast<std::int32_t>(t));
      r.experts.push_back(e);
      r.rows.push_back(static_cast<std::int32_t>(t * used + i));
      r.weights.data<float>()[t * used + i] = normalised ? row[e] / sum : row[e];
    }
  }
  return r;
}

Tensor apply_experts(const QTensor& w, const Activation& x, std::span<const std::int32_t> x_rows, std::span<const std::int32_t> experts, Activations mode) {
  if (w.shape().rank() != 3 || w.cols() != x.x().cols())
    throw Error(ErrorKind::usage, "[expert_linear] weight " + w.name() + " " + to_string(w.shape()) + " needs x with " + std::to_string(w.cols()) + " columns, got " + std::to_string(x.x().cols()));
  Tensor y = Tensor::empty({static_cast<std::int64_t>(x_rows.size()), w.shape()[1]}, DType::f32, x.x().device());
  ExpertJob job{.w = &w, .x = &x.x(), .x_rows = x_rows, .experts = experts, .y = &y};
  if (mode == Activations::int8 && !quant::info(w.wtype()).floating) job.q = &x.q();
  backend_of(x.x()).expert_linear(job);
  return y;
}

Tensor combine(const Tensor& rows, const Routing& routing) {
  Tensor y = Tensor::zeros({routing.weights.size(0), rows.cols()}, DType::f32, rows.device());
  Backend& backend = backend_of(rows);
  for (std::int64_t t = 0; t < y.rows(); ++t) {
    Tensor out = y.row(t);
    for (std::int64_t i = 0; i < routing.used; ++i) backend.axpy(routing.weights.data<float>()[t * routing.used + i], rows.row(t * routing.used + i), out);
  }
  return y;
}

}  // namespace hz::nn
