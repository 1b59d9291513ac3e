// SPDX-License-Identifier: Apache-2.0
// Gradients against central differences, and against those of another backend.
#pragma once
#include <algorithm>
#include <cmath>
#include <functional>
#include <span>
#include <vector>

#include "hanzo/autograd/custom_op.hpp"
#include "hanzo/ops/ops.hpp"
#include "tests/catch.hpp"
#include "tests/random.hpp"

namespace hz::test {

using Function = std::function<Tensor(std::span<const Tensor>)>;

inline Tensor upstream_of(const Shape& shape) { return random_tensor(shape, 4711); }

// sum(upstream * f(inputs)), in double.
inline double value_of(const Function& f, std::span<const Tensor> inputs) {
  const Tensor y = f(inputs), up = upstream_of(y.shape());
  double s = 0;
  for (std::int64_t i = 0; i < y.numel(); ++i) s += static_cast<double>(y.data<float>()[i]) * up.data<float>()[i];
  return s;
}

// The gradients of that for all inputs, by the tape.
inline std::vector<Tensor> gradients_of(const Function& f, std::span<const Tensor> inputs) {
  std::vector<Var> vars;
  std::vector<Tensor> tracked, grads;
  for (const Tensor& t : inputs) {
    vars.emplace_back(t);
    tracked.push_back(vars.back().tensor());
  }
  Tape tape;
  const Tensor y = f(tracked), up = upstream_of(y.shape());
  const GradStore g = tape.backward({&y, 1}, {&up, 1});
  for (const Var& v : vars) grads.push_back(g[v]);
  return grads;
}

inline double largest(const Tensor& t) {
  double m = 0;
  for (std::int64_t i = 0; i < t.numel(); ++i) m = std::max(m, std::fabs(static_cast<double>(t.data<float>()[i])));
  return m;
}
// The largest difference over the largest magnitude of b.
inline double distance(const Tensor& a, const Tensor& b) {
  double m = 0;
  for (std::int64_t i = 0; i < a.numel(); ++i) {
    const double d = std::fabs(static_cast<double>(a.data<float>()[i]) - b.data<float>()[i]);
    if (!(d <= m)) m = d;  // keeps NaN
  }
  return m / std::max(largest(b), 1e-30);
}

// Every input's gradient, at up to 40 elements each, against central differences.
inline void check_differences(const Function& f, std::span<const Tensor> inputs, double tolerance = 5e-3, float step = 1e-2f) {
  const std::vector<Tensor> grads = gradients_of(f, inputs);
  for (std::size_t n = 0; n < inputs.size(); ++n) {
    REQUIRE(grads[n].defined());
    REQUIRE(grads[n].numel() == inputs[n].numel());
    const double scale = std::max(largest(grads[n]), 1e-3);
    std::vector<Tensor> moved(inputs.begin(), inputs.end());
    const std::int64_t stride = std::max<std::int64_t>(1, inputs[n].numel() / 40);
    for (std::int64_t i = 0; i < inputs[n].numel(); i += stride) {
      moved[n] = inputs[n].clone();
      float& x = moved[n].data<float>()[i];
      const float at = x, up = at + step, down = at - step;
      x = up;
      const double above = value_of(f, moved);
      x = down;
      const double below = value_of(f, moved);
      const double numeric = (above - below) / (static_cast<double>(up) - down);
      INFO("input " << n << " element " << i << " of " << inputs[n].numel());
      CHECK(std::fabs(numeric - grads[n].data<float>()[i]) <= tolerance * scale);
    }
    moved[n] = inputs[n];
  }
}

}  // namespace hz::test
