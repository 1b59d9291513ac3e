// SPDX-License-Identifier: Apache-2.0
// Optimizers: AdamW and SGD against numbers worked out in double, and what they refuse.
#include "hanzo/nn/optim.hpp"

#include <cmath>
#include <limits>

#include "hanzo/nn/var_map.hpp"
#include "tests/catch.hpp"
#include "tests/random.hpp"

using namespace hz;
using namespace hz::optim;
using namespace hz::test;

namespace {

Tensor scalar(float v) { return Tensor::from(std::vector<float>{v}, {1}); }
Tensor copy(const Tensor& t) { return t.clone(); }

}  // namespace

TEST_CASE("AdamW decays, corrects the moments' bias and steps in torch's order", "[optim]") {
  const Tensor theta = scalar(1);
  AdamW opt({Var(theta, "theta")}, {.lr = 0.01, .weight_decay = 0.1});
  const double want[] = {0.9890000010, 0.9916720360, 0.9872479534};
  const float gradients[] = {0.1f, -0.2f, 0.3f};
  for (int i = 0; i < 3; ++i) {
    const Tensor g = scalar(gradients[i]);
    REQUIRE(opt.step({&g, 1}));
    CHECK(static_cast<double>(theta.item()) == Approx(want[i]).epsilon(1e-6));
  }
  CHECK(opt.steps() == 3);
}

TEST_CASE("a gradient that is not finite skips the step, is counted, and leaves moments as they were", "[optim]") {
  const Tensor a = scalar(1), b = scalar(2), same_a = scalar(1), same_b = scalar(2);
  AdamW opt({Var(a, "a"), Var(b, "b")}), clean({Var(same_a, "a"), Var(same_b, "b")});
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    const Tensor g[] = {scalar(1), scalar(bad)};
    CHECK_FALSE(opt.step(g));
  }
  const Tensor fine[] = {scalar(1), scalar(1)};
  CHECK_FALSE(opt.step(fine, {.scale = std::numeric_limits<double>::quiet_NaN()}));
  CHECK(opt.skipped() == 3);
  CHECK(opt.steps() == 0);
  CHECK(opt.step(fine));
  CHECK(clean.step(fine));
  CHECK(same_bits(a, same_a));
  CHECK(same_bits(b, same_b));
}

TEST_CASE("half-width parameters have a float32 master: small updates add up", "[optim]") {
  const Tensor exact = Tensor::from(std::vector<float>{1, -2, 0.5f, 3}, {4}), narrow = nn::cast(exact, DType::bf16),
               half = nn::cast(exact, DType::f16);
  AdamW opt({Var(narrow, "narrow"), Var(half, "half")}, {.lr = 1e-5, .weight_decay = 0});
  const Tensor g = Tensor::from(std::vector<float>{1, 1, 1, 1}, {4});
  for (int i = 0; i < 1000; ++i) {
    const Tensor both[] = {g, g};
    opt.step(both);
  }
  CHECK(to_float(narrow.data<BFloat16>()[0]) == Approx(0.99f).epsilon(0.004));  // one update of 1e-5 alone would vanish
  CHECK(to_float(narrow.data<BFloat16>()[0]) < 1.0f);
  CHECK(to_float(half.data<Half>()[2]) == Approx(0.49f).epsilon(0.001));
}

TEST_CASE("groups have rates of their own; LoRA+ speeds up B; vectors are not decayed", "[optim]") {
  const std::vector<Var> lora{Var(scalar(0), "blk.0.attn_q.lora_a"), Var(scalar(0), "blk.0.attn_q.lora_b")};
  Sgd opt(lora_plus_groups(lora, 16), {.lr = 0.5});
  REQUIRE(opt.parameters()[1].name() == "blk.0.attn_q.lora_b");
  const Tensor g[] = {scalar(1), scalar(1)};
  opt.step(g);
  CHECK(lora[0].tensor().item() == -0.5f);
  CHECK(lora[1].tensor().item() == -8.0f);

  const Tensor matrix = Tensor::from(std::vector<float>{1, 1}, {1, 2}), vector = Tensor::from(std::vector<float>{1, 1}, {2});
  const std::vector<Var> both{Var(matrix, "w"), Var(vector, "b")};
  AdamW decayed(decay_groups(both), {.lr = 0.1, .weight_decay = 0.5});
  const Tensor zero[] = {Tensor::zeros({1, 2}), Tensor::zeros({2})};
  decayed.step(zero);
  CHECK(matrix.data<float>()[0] == Approx(0.95f));
  CHECK(vector.data<float>()[0] == 1.0f);
}

TEST_CASE("state goes out and comes back: the run goes on as if it had never stopped", "[optim]") {
  const Tensor start = random_tensor({5, 7}, 1);
  const auto gradient = [](int step) { return random_tensor({5, 7}, 100 + static_cast<std::uint64_t>(step)); };
  const Tensor whole = copy(start), first = copy(start), second = Tensor::zeros({5, 7});
  AdamW a({Var(whole, "w")}), b({Var(first, "w")}), c({Var(second, "w")});
  for (int i = 0; i < 10; ++i) {
    const Tensor g = gradient(i);
    a.step({&g, 1});
    if (i < 5) b.step({&g, 1});
  }
  auto saved = b.state();
  for (auto& [name, t] : saved) t = copy(t);
  c.load_state(
      [&](const std::string& name) {
        for (const auto& [n, t] : saved)
          if (n == name) return &t;
        return static_cast<const Tensor*>(nullptr);
      },
      b.steps(), b.skipped());
  for (int i = 5; i < 10; ++i) {
    const Tensor g = gradient(i);
    c.step({&g, 1});
  }
  CHECK(same_bits(whole, second));
  CHECK(c.steps() == 10);
  CHECK_THROWS_AS(c.load_state([](const std::string&) { return static_cast<const Tensor*>(nullptr); }, 0, 0), Error);
}

TEST_CASE("a parameter without a gradient stays, and its bias correction with it", "[optim]") {
  const Tensor a = scalar(1), b = scalar(1), alone = scalar(1);
  AdamW opt({Var(a, "a"), Var(b, "b")}), one({Var(alone, "b")});
  const Tensor g = scalar(0.5f);
  const Tensor only_a[] = {g, Tensor()}, both[] = {g, g};
  opt.step(only_a);
  CHECK(b.item() == 1.0f);
  opt.step(both);
  one.step({&g, 1});
  CHECK(same_bits(b, alone));
}

TEST_CASE("clipping is by the norm of all gradients; shapes and types are checked", "[optim]") {
  const Tensor g[] = {Tensor::from(std::vector<float>{3}, {1}), Tensor(), Tensor::from(std::vector<float>{0, 4}, {2})};
  CHECK(global_norm(g) == 5.0);
  CHECK(clip_factor(5, 1) == Approx(0.2).epsilon(1e-6));
  CHECK(clip_factor(0.5, 1) == 1.0);
  CHECK(clip_factor(5, 0) == 1.0);
  Sgd opt({Var(scalar(1), "w")});
  CHECK_THROWS_AS(opt.step({&g[2], 1}), Error);
  CHECK_THROWS_AS(opt.step(g), Error);
  CHECK_THROWS_AS(Sgd({Var(scalar(1), "w")}, {.nesterov = true}), Error);
}
