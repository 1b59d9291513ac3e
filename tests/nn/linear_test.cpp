// SPDX-License-Identifier: Apache-2.0
// Linear: full fine-tuning of float weights, biases and adapters through one call, several layers over one input.
#include "hanzo/nn/linear.hpp"

#include "tests/autograd/gradcheck.hpp"

using namespace hz;
using namespace hz::test;

namespace {

nn::Linear dense(const Tensor& w, const Tensor& b = {}) {
  nn::Linear l;
  l.dense = w;
  l.bias = b;
  return l;
}

nn::LoraAdapter adapter() {
  nn::LoraAdapter a;
  a.a = Var(random_tensor({3, 24}, 3));
  a.b = Var(random_tensor({10, 3}, 4));
  a.scale = 0.5f;
  return a;
}

}  // namespace

TEST_CASE("float weights and biases of layers that share an input are trained through apply", "[nn][gradients]") {
  const Tensor x = random_tensor({5, 24}, 1), w0 = random_tensor({10, 24}, 2), b0 = random_tensor({10}, 3), w1 = random_tensor({10, 24}, 4);
  const Function f = [](std::span<const Tensor> in) {
    const nn::Linear first = dense(in[1], in[2]), second = dense(in[3]);
    const auto y = nn::apply({&first, &second}, nn::Activation(in[0]), nn::Activations::f32);
    return mul(y[0], y[1]);
  };
  check_differences(f, std::vector<Tensor>{x, w0, b0, w1}, 1e-2);
}

TEST_CASE("a frozen float weight passes the input's gradient and has none", "[nn][gradients]") {
  const Var x(random_tensor({5, 24}, 1));
  const nn::Linear l = dense(random_tensor({10, 24}, 2));
  Tape tape;
  const Tensor y = nn::apply(l, nn::Activation(x.tensor()), nn::Activations::f32), up = upstream_of(y.shape());
  const GradStore g = tape.backward({&y, 1}, {&up, 1});
  CHECK(g.size() == 1);
  CHECK(largest(g[x]) > 0);
}

TEST_CASE("a layer below whose output nobody wants costs no gradient", "[nn][gradients]") {
  nn::Linear l = dense(random_tensor({10, 24}, 2));
  l.adapters.push_back(adapter());
  const Tensor x = random_tensor({5, 24}, 1);
  Tape tape;
  const Tensor y = nn::apply(l, nn::Activation(x), nn::Activations::f32), up = upstream_of(y.shape());
  const GradStore g = tape.backward({&y, 1}, {&up, 1});
  CHECK(g.size() == 2);
  CHECK(largest(g[l.adapters[0].a]) > 0);
  CHECK(largest(g[l.adapters[0].b]) > 0);
}

TEST_CASE("an adapter wants floats of the stage before it, and rows without one keep their bits", "[nn]") {
  nn::Linear l = dense(random_tensor({10, 24}, 2));
  CHECK(nn::wanted_by({&l}, nn::Activations::int8).floats);
  const Tensor x = random_tensor({4, 24}, 1);
  const Tensor plain = nn::apply(l, nn::Activation(x), nn::Activations::f32);
  l.adapters.push_back(adapter());
  const nn::AdapterUse use[] = {{0, 1.0f}};
  const nn::AdapterRows rows[] = {{1, 2, use}};
  const Tensor y = nn::apply(l, nn::Activation(x), nn::Pass(nn::Activations::f32, rows));
  CHECK(same_bits(y.slice(0, 0, 1), plain.slice(0, 0, 1)));
  CHECK(same_bits(y.slice(0, 3, 4), plain.slice(0, 3, 4)));
  CHECK_FALSE(same_bits(y.slice(0, 1, 3), plain.slice(0, 1, 3)));
}

TEST_CASE("row norms of W + s B A are those of the whole matrix", "[nn]") {
  const Tensor w = random_tensor({9, 20}, 1), a = random_tensor({3, 20}, 2), b = random_tensor({9, 3}, 3);
  const Tensor n = nn::row_norms({}, w, a, b, 0.7f);
  for (std::int64_t i = 0; i < 9; ++i) {
    double square = 0;
    for (std::int64_t k = 0; k < 20; ++k) {
      double v = w.data<float>()[i * 20 + k];
      for (std::int64_t r = 0; r < 3; ++r) v += 0.7 * b.data<float>()[i * 3 + r] * a.data<float>()[r * 20 + k];
      square += v * v;
    }
    CHECK(std::fabs(n.data<float>()[i] - std::sqrt(square)) <= 1e-5 * std::sqrt(square));
  }
}
