// SPDX-License-Identifier: Apache-2.0
// Losses: chunks equal the whole, masks of every kind, gradients against differences.
#include "hanzo/nn/losses.hpp"

#include <cmath>
#include <limits>
#include <numeric>

#include "hanzo/autograd/record.hpp"
#include "hanzo/ops/ops.hpp"
#include "tests/catch.hpp"
#include "tests/random.hpp"

using namespace hz;
using namespace hz::nn;
using namespace hz::test;

namespace {

double largest_difference(const Tensor& a, const Tensor& b) {
  double d = 0;
  for (std::int64_t i = 0; i < a.numel(); ++i)
    d = std::max(d, std::fabs(static_cast<double>(a.data<float>()[i]) - static_cast<double>(b.data<float>()[i])));
  return d;
}

// The gradient of f at x against central differences, for a loss of about one.
template <class F>
void check_gradient(const Tensor& x, F f) {
  const Var v(x.clone());
  Tape tape;
  const Tensor loss = f(v.tensor()), gradient = tape.backward(loss)[v];
  const NoGrad off;
  for (std::int64_t i = 0; i < x.numel(); ++i) {
    const float h = 1e-2f;
    const Tensor up = x.clone(), down = x.clone();
    up.data<float>()[i] += h;
    down.data<float>()[i] -= h;
    const double slope = (static_cast<double>(f(up).item()) - static_cast<double>(f(down).item())) / (2 * static_cast<double>(h));
    INFO("element " << i);
    CHECK(static_cast<double>(gradient.data<float>()[i]) == Approx(slope).margin(2e-3));
  }
}

}  // namespace

TEST_CASE("cross entropy in chunks of the head's rows equals the whole, loss and gradients", "[losses]") {
  const std::int64_t rows = 23, n = 8, vocab = 37;
  const Tensor x = random_tensor({rows, n}, 1), w = random_tensor({vocab, n}, 2);
  std::vector<std::int32_t> targets(static_cast<std::size_t>(rows));
  for (std::size_t i = 0; i < targets.size(); ++i)
    targets[i] = i % 5 == 2 || (i >= 8 && i < 12) ? -100 : static_cast<std::int32_t>((i * 7) % 37);
  for (const bool smooth : {false, true}) {
    const CrossEntropyOptions options{.label_smoothing = smooth ? 0.1f : 0.0f};
    const Var wx(x.clone());
    Tensor dense_loss, dense_dlogits, logits;
    {
      const Tensor y = Tensor::empty({rows, vocab});
      for (std::int64_t i = 0; i < rows; ++i)
        for (std::int64_t j = 0; j < vocab; ++j)
          y.data<float>()[i * vocab + j] =
              std::inner_product(x.data<float>() + i * n, x.data<float>() + (i + 1) * n, w.data<float>() + j * n, 0.0f);
      const Var leaf(y);
      Tape tape;
      dense_loss = cross_entropy(leaf, targets, options);
      dense_dlogits = tape.backward(dense_loss)[leaf];
      logits = y;
    }
    Tensor dense_dx = Tensor::zeros({rows, n});
    for (std::int64_t i = 0; i < rows; ++i)
      for (std::int64_t j = 0; j < vocab; ++j)
        for (std::int64_t k = 0; k < n; ++k)
          dense_dx.data<float>()[i * n + k] += dense_dlogits.data<float>()[i * vocab + j] * w.data<float>()[j * n + k];
    for (const std::int64_t chunk : {1, 4, 7, 64}) {
      // The head as an op of its own: rows times w, with the input's gradient.
      const auto head = [&](const Tensor& part) {
        Tensor y = Tensor::empty({part.rows(), vocab});
        for (std::int64_t i = 0; i < part.rows(); ++i)
          for (std::int64_t j = 0; j < vocab; ++j)
            y.data<float>()[i * vocab + j] =
                std::inner_product(part.data<float>() + i * n, part.data<float>() + (i + 1) * n, w.data<float>() + j * n, 0.0f);
        if (Tape* tape = autograd::recording({part.grad_id()}))
          autograd::record(tape, "head", {part.grad_id()}, y, [&](Backward& g) {
            Tensor dx = Tensor::zeros({g.dy().rows(), n});
            for (std::int64_t i = 0; i < dx.rows(); ++i)
              for (std::int64_t j = 0; j < vocab; ++j)
                for (std::int64_t k = 0; k < n; ++k)
                  dx.data<float>()[i * n + k] += g.dy().data<float>()[i * vocab + j] * w.data<float>()[j * n + k];
            g.give(0, dx);
          });
        return y;
      };
      Tape tape;
      const Tensor loss = chunked_cross_entropy(wx, targets, head, chunk, options);
      const Tensor dx = tape.backward(loss)[wx];
      CHECK(static_cast<double>(loss.item()) == Approx(static_cast<double>(dense_loss.item())).epsilon(1e-6));
      CHECK(largest_difference(dx, dense_dx) < 1e-5);
      const NoGrad off;
      CHECK(static_cast<double>(chunked_cross_entropy(x, targets, head, chunk, options).item()) ==
            Approx(static_cast<double>(dense_loss.item())).epsilon(1e-6));
    }
  }
}

TEST_CASE("a batch without a trained row has a loss of zero and gradients of zero", "[losses]") {
  const Var x(random_tensor({3, 5}, 1));
  const std::vector<std::int32_t> none{-100, -100, -100};
  {
    Tape tape;
    const Tensor loss = cross_entropy(x, none);
    CHECK(loss.item() == 0.0f);
    const Tensor g = tape.backward(loss)[x];
    CHECK(largest_difference(g, Tensor::zeros({3, 5})) == 0.0);
  }
  Tape tape;
  const Tensor loss = chunked_cross_entropy(x, none, [](const Tensor& part) { return part; });
  CHECK(loss.item() == 0.0f);
  CHECK(largest_difference(tape.backward(loss)[x], Tensor::zeros({3, 5})) == 0.0);
}

TEST_CASE("weights: a mask of zeros and ones equals ignoring; the mean is over the weights", "[losses]") {
  const Tensor x = random_tensor({4, 6}, 3);
  const std::vector<std::int32_t> targets{1, 2, 3, 4}, some{1, -100, 3, -100};
  const std::vector<float> mask{1, 0, 1, 0};
  CHECK(same_bits(cross_entropy(x, targets, {.weights = mask}), cross_entropy(x, some)));
}

TEST_CASE("the loss of any thread count is the same bits", "[losses]") {
  const Tensor x = random_tensor({50, 300}, 4);
  std::vector<std::int32_t> targets(50, 7);
  const auto of = [&](int threads) {
    const Var v(x);
    Tape tape;
    const Tensor loss = cross_entropy(v, targets, {.threads = threads});
    return std::pair(loss, tape.backward(loss)[v]);
  };
  const auto one = of(1), three = of(3);
  CHECK(same_bits(one.first, three.first));
  CHECK(same_bits(one.second, three.second));
}

TEST_CASE("gradients agree with differences", "[losses]") {
  const Tensor x = random_tensor({3, 4}, 5), t = random_tensor({3, 4}, 6), y = unary(Unary::sigmoid, t);
  const std::vector<std::int32_t> targets{0, -100, 3};
  check_gradient(x, [&](const Tensor& v) { return cross_entropy(v, targets, {.label_smoothing = 0.2f}); });
  check_gradient(x, [&](const Tensor& v) { return nll(v, targets); });
  check_gradient(x, [&](const Tensor& v) { return mse(v, t); });
  check_gradient(x, [&](const Tensor& v) { return bce_with_logits(v, y); });
  check_gradient(x, [&](const Tensor& v) { return huber(v, t, 0.7f); });
  check_gradient(x, [&](const Tensor& v) { return kl_divergence(v, t); });
}

TEST_CASE("the divergence of a distribution from itself is zero; logits of any size are safe", "[losses]") {
  const Tensor x = random_tensor({3, 9}, 7);
  CHECK(std::fabs(kl_divergence(x, x).item()) < 1e-7f);
  const Tensor huge = Tensor::from(std::vector<float>{1e4f, -1e4f, 0, 200, -200, 88}, {2, 3});
  CHECK(std::isfinite(cross_entropy(huge, std::vector<std::int32_t>{1, 1}).item()));
  CHECK(bce_with_logits(huge, Tensor::zeros({2, 3})).item() == Approx((10000 + 0.693147 + 200 + 88) / 6).epsilon(1e-6));
}

TEST_CASE("wrong shapes and targets are named", "[losses]") {
  const Tensor x = random_tensor({2, 3}, 8);
  CHECK_THROWS_AS(cross_entropy(x, std::vector<std::int32_t>{1}), Error);
  CHECK_THROWS_AS(cross_entropy(x, std::vector<std::int32_t>{1, 3}), Error);
  CHECK_THROWS_AS(cross_entropy(x, std::vector<std::int32_t>{1, -1}), Error);
  CHECK_THROWS_AS(cross_entropy(x, std::vector<std::int32_t>{1, 1}, {.label_smoothing = 1.0f}), Error);
  CHECK_THROWS_AS(mse(x, random_tensor({3, 2}, 9)), Error);
  CHECK_THROWS_AS(huber(x, x, 0.0f), Error);
}
