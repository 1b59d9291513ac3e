// SPDX-License-Identifier: Apache-2.0
// An op of one's own with its gradient, checked against a finite difference.
#include <fmt/format.h>
#include <hanzo/hanzo.hpp>

#include <cmath>
#include <vector>

// y = x * sigmoid(x)
struct Swish : hz::CustomOp {
  hz::Tensors forward(Ctx& c, hz::TensorSpan in) override {
    c.save(in[0]);
    return {in[0] * hz::sigmoid(in[0])};
  }
  hz::Tensors backward(Ctx& c, hz::TensorSpan dy) override {
    const auto x = c.saved(0), s = hz::sigmoid(x);
    return {dy[0] * (s + x * s * (1 - s))};
  }
};

int main() try {
  const std::vector<float> values{-2, -0.5f, 0, 1, 3};
  const hz::Var x(hz::Tensor::from(values, {5}), "x");
  hz::Tape tape;
  const hz::GradStore grads = tape.backward(hz::sum(hz::apply<Swish>(x)));
  bool good = true;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto f = [](double v) { return v / (1 + std::exp(-v)); };
    const double difference = (f(values[i] + 1e-4) - f(values[i] - 1e-4)) / 2e-4, gradient = grads[x].span<float>()[i];
    fmt::print("x {:5.2f}  gradient {:9.6f}  difference {:9.6f}\n", values[i], gradient, difference);
    good = good && std::fabs(gradient - difference) < 1e-5;
  }
  return good ? 0 : 1;
} catch (const hz::Error& e) {
  fmt::print(stderr, "error: {}\n", e.what());
  return 1;
}
