// SPDX-License-Identifier: Apache-2.0
// A loss and a step of plain gradient descent, for tests of training.
#pragma once
#include <cmath>
#include <vector>

#include "hanzo/autograd/custom_op.hpp"
#include "hanzo/model/adapter.hpp"

namespace hz::test {

// The mean of -log softmax(logits[t])[ids[t + 1]].
struct NextToken : CustomOp {
  std::vector<std::int32_t> ids;
  explicit NextToken(std::vector<std::int32_t> of) : ids(std::move(of)) {}
  Tensors forward(Ctx& c, TensorSpan in) override {
    const Tensor& x = in[0];
    Tensor grad = Tensor::zeros(x.shape(), DType::f32, x.device()), loss = Tensor::empty({1}, DType::f32, x.device());
    const std::int64_t n = x.rows() - 1;
    double total = 0;
    for (std::int64_t t = 0; t < n; ++t) {
      const float* row = x.data<float>() + t * x.cols();
      const std::int32_t target = ids[static_cast<std::size_t>(t + 1)];
      double top = row[0], sum = 0;
      for (std::int64_t j = 0; j < x.cols(); ++j) top = std::max<double>(top, row[j]);
      for (std::int64_t j = 0; j < x.cols(); ++j) sum += std::exp(row[j] - top);
      total += std::log(sum) + top - row[target];
      for (std::int64_t j = 0; j < x.cols(); ++j)
        grad.data<float>()[t * x.cols() + j] =
            static_cast<float>((std::exp(row[j] - top) / sum - (j == target ? 1 : 0)) / static_cast<double>(n));
    }
    loss.data<float>()[0] = static_cast<float>(total / static_cast<double>(n));
    c.save(grad);
    return {loss};
  }
  Tensors backward(Ctx& c, TensorSpan dy) override {
    Tensor d = Tensor::empty(c.saved(0).shape(), DType::f32, c.saved(0).device());
    for (std::int64_t i = 0; i < d.numel(); ++i) d.data<float>()[i] = c.saved(0).data<float>()[i] * dy[0].item();
    return {d};
  }
};

inline Tensor next_token_loss(const Tensor& logits, std::span<const std::int32_t> ids) {
  return CustomOp::run(std::make_shared<NextToken>(std::vector<std::int32_t>(ids.begin(), ids.end())), {&logits, 1})[0];
}

struct Step {
  float loss = 0;
  GradStore grads;
};
inline Step gradients(const Model& model, std::span<const std::int32_t> ids, TapeOptions options = {}) {
  Tape tape(options);
  const Tensor loss = next_token_loss(model.forward(ids), ids);
  Step s{loss.item(), {}};
  s.grads = tape.backward(loss);
  return s;
}
inline void descend(const std::vector<Var>& parameters, const GradStore& grads, float rate) {
  for (const Var& v : parameters) {
    const Tensor g = grads[v];
    if (!g.defined()) continue;
    for (std::int64_t i = 0; i < g.numel(); ++i) v.tensor().data<float>()[i] -= rate * g.data<float>()[i];
    v.touch();
  }
}
// A few steps on one text; returns the losses.
inline std::vector<float> train(const Model& model, const Adapter& adapter, std::span<const std::int32_t> ids, int steps, float rate) {
  std::vector<float> losses;
  for (int i = 0; i < steps; ++i) {
    const Step s = gradients(model, ids);
    losses.push_back(s.loss);
    descend(adapter.parameters(), s.grads, rate);
  }
  return losses;
}

}  // namespace hz::test
