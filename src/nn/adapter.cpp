// SPDX-License-Identifier: Apache-2.0
// Adapters on the way forward: U = x A^T and delta = U B^T by the rule for float weights, y = fma(scale, delta, y).
#include "hanzo/nn/adapter.hpp"

#include <cmath>
#include <cstring>

#include "hanzo/core/parallel.hpp"
#include "hanzo/ops/grad.hpp"
#include "src/nn/linear_grad.hpp"

namespace hz::nn {
namespace {

// Rows [begin, begin + count) of a matrix; the whole matrix as it is, its identity kept.
Tensor rows_of(const Tensor& t, std::int64_t begin, std::int64_t count) {
  return begin == 0 && count == t.rows() ? t : slice_rows(t, begin, begin + count);
}
Tensor matrix(const Tensor& like, std::int64_t rows, std::int64_t cols) { return Tensor::empty({rows, cols}, DType::f32, like.device()); }

bool trains(const Tensor& t) {
  const Tape* tape = Tape::active();
  return tape != nullptr && t.defined() && t.grad_id() != 0 && tape->wants(t.grad_id());
}

void apply_magnitude(LoraUse& use, const Linear& layer, Tensor& rows) {
  const LoraAdapter& a = *use.adapter;
  const Tensor norms = row_norms(layer.weight, layer.dense, a.a, a.b, use.scale);
  use.gain = Tensor::empty({layer.out()}, DType::f32, rows.device());
  const float* m = a.magnitude.tensor().data<float>();
  for (std::int64_t i = 0; i < layer.out(); ++i) {
    const float n = norms.data<float>()[i];
    use.gain.data<float>()[i] = n > 0 ? m[i] / n : 1.0f;  // a row of zeros stays one
  }
  if (trains(a.magnitude)) use.before = rows.clone();
  Tensor scaled = matrix(rows, rows.rows(), rows.cols());
  backend_of(rows).mul_row(rows, use.gain, scaled);
  std::memcpy(rows.raw(), scaled.raw(), rows.nbytes());
}

}  // namespace

void run_adapters(std::vector<LoraUse>& uses, std::initializer_list<const Linear*> layers, const Activation& x, std::vector<Tensor>& y) {
  const Tape* tape = Tape::active();
  std::vector<LinearJob> jobs;
  for (LoraUse& use : uses) {
    const LoraAdapter& a = *use.adapter;
    use.x = rows_of(x.x(), use.begin, use.count);
    if (tape != nullptr && a.dropout > 0) use.x = dropout(use.x, a.dropout, tape->options().seed, a.stream);
    use.u = matrix(use.x, use.count, a.rank());
    jobs.push_back({.dense = &a.a.tensor(), .x = &use.x, .y = &use.u});
  }
  Backend& backend = backend_of(y[0]);
  backend.linear(jobs);
  std::vector<Tensor> delta;
  delta.reserve(uses.size());
  jobs.clear();
  for (LoraUse& use : uses) {
    delta.push_back(matrix(use.x, use.count, y[use.layer].cols()));
    jobs.push_back({.dense = &use.adapter->b.tensor(), .x = &use.u, .y = &delta.back()});
  }
  backend.linear(jobs);
  for (std::size_t i = 0; i < uses.size(); ++i) {
    Tensor rows = y[uses[i].layer].slice(0, uses[i].begin, uses[i].begin + uses[i].count);
    backend.axpy(uses[i].scale, delta[i], rows);
    if (uses[i].adapter->magnitude.defined()) apply_magnitude(uses[i], *layers.begin()[uses[i].layer], rows);
  }
}

Tensor row_norms(const QTensor& weight, const Tensor& dense, const Tensor& a, const Tensor& b, float scale) {
  const std::int64_t out = b.rows(), rank = a.rows(), in = a.cols();
  const auto r = static_cast<std::size_t>(rank);
  std::vector<double> gram(r * r);  // A A^T
  const auto dot = [in](const float* p, const float* q) {
    double s = 0;
    for (std::int64_t k = 0; k < in; ++k) s += static_cast<double>(p[k]) * q[k];
    return s;
  };
  const float* av = a.data<float>();
  for (std::size_t i = 0; i < r; ++i)
    for (std::size_t j = 0; j < r; ++j)
      gram[i * r + j] = dot(av + static_cast<std::int64_t>(i) * in, av + static_cast<std::int64_t>(j) * in);
  Tensor norms = Tensor::empty({out});
  const double s = scale;
  parallel_for(default_threads(), out, 16, [&](std::int64_t begin, std::int64_t end) {
    std::vector<float> w(static_cast<std::size_t>(in));
    for (std::int64_t i = begin; i < end; ++i) {
      if (weight.defined()) weight.decode_row(i, w.data());
      else for (std::int64_t k = 0; k < in; ++k) w[static_cast<std::size_t>(k)] = ops::dense_value(dense, i * in + k);
      double square = dot(w.data(), w.data());
      const float* bi = b.data<float>() + i * rank;
      for (std::size_t j = 0; j < r; ++j) {
        if (bi[j] == 0) continue;
        double row = 2 * dot(av + static_cast<std::int64_t>(j) * in, w.data());
        for (std::size_t k = 0; k < r; ++k) row += s * gram[j * r + k] * bi[k];
        square += s * bi[j] * row;
      }
      norms.data<float>()[i] = static_cast<float>(std::sqrt(std::max(square, 0.0)));
    }
  });
  return norms;
}

}  // namespace hz::nn
