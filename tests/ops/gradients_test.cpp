// SPDX-License-Identifier: Apache-2.0
// Every op's gradient: finite differences on the reference backend, and every instruction set against that backend.
#include "hanzo/ops/arithmetic.hpp"
#include "tests/autograd/gradcheck.hpp"
#include "tests/kernels/isas.hpp"
#include "tests/quant/random_blocks.hpp"

using namespace hz;
using namespace hz::test;

namespace {

std::vector<Tensor> on(Backend& backend, std::span<const Tensor> inputs) {
  std::vector<Tensor> moved;
  for (const Tensor& t : inputs) moved.push_back(t.on(backend.device()));
  return moved;
}

// Differences on the reference backend; then every set and thread count has its gradients, and all sets the same bits.
void check_everywhere(const Function& f, const std::vector<Tensor>& inputs, double tolerance = 5e-3, float step = 1e-2f,
                      double closeness = 1e-5) {
  const auto reference = make_backend("reference");
  check_differences(f, on(*reference, inputs), tolerance, step);
  const std::vector<Tensor> want = gradients_of(f, on(*reference, inputs));
  std::vector<Tensor> first;
  for (const auto* isa : runnable_isas())
    for (const int threads : {1, 3}) {
      const auto cpu = make_backend("cpu", {.threads = threads, .isa = isa->name});
      const std::vector<Tensor> got = gradients_of(f, on(*cpu, inputs));
      for (std::size_t i = 0; i < got.size(); ++i) {
        INFO(isa->name << " threads " << threads << " input " << i);
        REQUIRE(got[i].defined());
        CHECK(distance(got[i], want[i]) <= closeness);
        if (!first.empty()) CHECK(std::memcmp(got[i].raw(), first[i].raw(), got[i].nbytes()) == 0);
      }
      if (first.empty()) first = got;
    }
}

}  // namespace

TEST_CASE("gradients of elementwise ops", "[ops][gradients]") {
  const Tensor a = random_tensor({3, 21}, 1), b = random_tensor({3, 21}, 2), row = random_tensor({21}, 3);
  check_everywhere([](auto in) { return add(in[0], in[1]); }, {a, b});
  check_everywhere([](auto in) { return add(in[0], in[0]); }, {a});
  check_everywhere([](auto in) { return add_row(in[0], in[1]); }, {a, row});
  check_everywhere([](auto in) { return mul(in[0], in[1]); }, {a, b});
  check_everywhere([](auto in) { return mul_row(in[0], in[1]); }, {a, row});
  check_everywhere([](auto in) { return scale(in[0], -2.5f); }, {a});
  check_everywhere([](auto in) { return softcap(in[0], 1.5f); }, {a});
  check_everywhere([](auto in) { return softmax(in[0]); }, {a});
  check_everywhere([](auto in) { return sum(in[0]); }, {a});
  check_everywhere([](auto in) { return dropout(in[0], 0.4f, Seed{3}, 9); }, {a});
  check_everywhere([](auto in) { return 2.0f * in[0] * sigmoid(in[0]) - (1 - in[1]) + 3.0f; }, {a, b});
}

TEST_CASE("gradients of every elementwise function", "[ops][gradients]") {
  const Tensor a = random_tensor({5, 37}, 1), b = random_tensor({5, 37}, 2);
  for (const Unary kind :
       {Unary::silu, Unary::gelu_tanh, Unary::gelu_erf, Unary::gelu_quick, Unary::tanh, Unary::sigmoid, Unary::exp, Unary::neg}) {
    INFO("function " << static_cast<int>(kind));
    check_everywhere([kind](auto in) { return unary(kind, in[0]); }, {a});
    check_everywhere([kind](auto in) { return glu(kind, in[0], in[1]); }, {a, b});
  }
  Tensor positive = random_tensor({2, 19}, 4), apart = random_tensor({2, 19}, 5);
  for (std::int64_t i = 0; i < positive.numel(); ++i) {
    positive.data<float>()[i] = 0.5f + std::fabs(positive.data<float>()[i]);
    apart.data<float>()[i] += apart.data<float>()[i] > 0 ? 0.1f : -0.1f;  // no kink within a step
  }
  check_everywhere([](auto in) { return unary(Unary::log, in[0]); }, {positive});
  for (const Unary kind : {Unary::relu, Unary::relu2}) check_everywhere([kind](auto in) { return unary(kind, in[0]); }, {apart});
}

TEST_CASE("gradients of norms and rows", "[ops][gradients]") {
  const Tensor x = random_tensor({6, 43}, 1), w = random_tensor({43}, 2), b = random_tensor({43}, 3);
  check_everywhere([](auto in) { return rms_norm(in[0], in[1], 1e-5f); }, {x, w});
  check_everywhere([](auto in) { return rms_norm(in[0], {}, 1e-5f); }, {x});
  check_everywhere([](auto in) { return layer_norm(in[0], in[1], in[2], 1e-5f); }, {x, w, b});
  check_everywhere([](auto in) { return slice_rows(in[0], 2, 5); }, {x});
  const std::vector<std::int32_t> rows{5, 0, 5, 3};
  check_everywhere([rows](auto in) { return pick_rows(in[0], rows); }, {x});
  CHECK_THROWS_AS(pick_rows(x, std::vector<std::int32_t>{6}), Error);
}

TEST_CASE("gradients of rope, both kinds, whole and partial", "[ops][gradients]") {
  const Tensor x = random_tensor({5, 2 * 12}, 1), table = random_tensor({9, 4, 2}, 2);
  const std::vector<std::int32_t> positions{0, 3, 8, 1, 2};
  for (const Rope kind : {Rope::adjacent, Rope::half_split})
    check_everywhere([&](auto in) { return rope(kind, in[0], positions, table, 2); }, {x});
}

TEST_CASE("gradients of products with float weights", "[ops][gradients]") {
  for (const std::int64_t tokens : {1, 5, 33}) {
    const Tensor w = random_tensor({37, 50}, 1), x = random_tensor({tokens, 50}, 2);
    check_everywhere([](auto in) { return matmul(in[0], in[1]); }, {w, x});
  }
}

TEST_CASE("the input gradient of a quantized weight is dy times its decoded values, every format", "[ops][gradients]") {
  for (const quant::FormatInfo& f : quant::formats()) {
    if (!f.weight) continue;
    const std::int64_t cols = f.block_elems > 64 ? 2 * f.block_elems : 192;
    const QTensor w = random_weights(f.type, {45, cols}, 7);
    for (const std::int64_t tokens : {1, 31, 70}) {
      const Tensor dy = random_tensor({tokens, 45}, 3);
      const Tensor dense = w.decode();
      const auto reference = make_backend("reference");
      Tensor want = Tensor::empty({tokens, cols}), first;
      const InputGradJob plain{.dense = &dense, .dy = &dy};
      reference->linear_input_grad({&plain, 1}, want);
      for (const auto* isa : runnable_isas())
        for (const int threads : {1, 3})
          for (const bool pack : {true, false}) {
            INFO(f.name << " " << isa->name << " threads " << threads << " pack " << pack << " tokens " << tokens);
            const auto cpu = make_backend("cpu", {.threads = threads, .isa = isa->name, .pack = pack, .expand_bytes = UINT64_MAX});
            Tensor got = Tensor::empty({tokens, cols});
            const InputGradJob job{.w = &w, .dy = &dy};
            cpu->linear_input_grad({&job, 1}, got);
            REQUIRE(distance(got, want) <= 2e-6);
            if (!first.defined()) first = got;
            REQUIRE(std::memcmp(got.raw(), first.raw(), got.nbytes()) == 0);
          }
    }
  }
}

TEST_CASE("the gradient of the loss passes a quantized product straight through", "[ops][gradients]") {
  const QTensor w = random_weights(WType::q4_0, {24, 64}, 5);
  const Tensor x = random_tensor({7, 64}, 1);
  const Tensor dx = gradients_of([&](auto in) { return qmatmul(w, in[0]); }, std::vector<Tensor>{x})[0];
  const Tensor dense = w.decode(), up = upstream_of({7, 24});
  Tensor want = Tensor::empty({7, 64});
  const InputGradJob job{.dense = &dense, .dy = &up};
  make_backend("reference")->linear_input_grad({&job, 1}, want);
  CHECK(distance(dx, want) <= 1e-6);
}

TEST_CASE("input gradients of several jobs add up in one chain, parts of the rows included", "[ops][gradients]") {
  const QTensor w = random_weights(WType::q8_0, {40, 96}, 5);
  const Tensor dense = random_tensor({9, 96}, 6), dy = random_tensor({20, 40}, 1), part = random_tensor({6, 9}, 2);
  const InputGradJob jobs[] = {{.w = &w, .dy = &dy}, {.dense = &dense, .dy = &part, .first_row = 11}};
  Tensor want = Tensor::empty({20, 96});
  make_backend("reference")->linear_input_grad(jobs, want);
  for (const auto* isa : runnable_isas()) {
    Tensor got = Tensor::empty({20, 96});
    make_backend("cpu", {.isa = isa->name})->linear_input_grad(jobs, got);
    CHECK(distance(got, want) <= 2e-6);
  }
}
