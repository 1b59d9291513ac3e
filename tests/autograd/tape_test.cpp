// SPDX-License-Identifier: Apache-2.0
// Tape: what is recorded, what is not, in-place safety, nesting, checkpointing, custom ops.
#include "hanzo/autograd/checkpoint.hpp"
#include "hanzo/autograd/custom_op.hpp"
#include "tests/catch.hpp"

using namespace hz;

namespace {

Tensor values(std::initializer_list<float> v) { return Tensor::from(std::vector<float>(v), {static_cast<std::int64_t>(v.size())}); }
float at(const Tensor& t, std::int64_t i) { return t.data<float>()[i]; }

// (a * b, a + b), elementwise.
struct MulAdd : CustomOp {
  static constexpr int kOutputs = 2;
  Tensors forward(Ctx& c, TensorSpan in) override {
    c.save(in[0]);
    c.save(in[1]);
    Tensor p = Tensor::empty(in[0].shape()), s = Tensor::empty(in[0].shape());
    for (std::int64_t i = 0; i < p.numel(); ++i) {
      p.data<float>()[i] = at(in[0], i) * at(in[1], i);
      s.data<float>()[i] = at(in[0], i) + at(in[1], i);
    }
    return {p, s};
  }
  Tensors backward(Ctx& c, TensorSpan dy) override {
    Tensor da = Tensor::empty(dy[0].shape()), db = Tensor::empty(dy[0].shape());
    for (std::int64_t i = 0; i < da.numel(); ++i) {
      da.data<float>()[i] = at(dy[0], i) * at(c.saved(1), i) + at(dy[1], i);
      db.data<float>()[i] = at(dy[0], i) * at(c.saved(0), i) + at(dy[1], i);
    }
    return {da, db};
  }
};
struct Sum : CustomOp {
  Tensors forward(Ctx& c, TensorSpan in) override {
    c.save(in[0]);
    float s = 0;
    for (std::int64_t i = 0; i < in[0].numel(); ++i) s += at(in[0], i);
    return {values({s})};
  }
  Tensors backward(Ctx& c, TensorSpan dy) override {
    Tensor dx = Tensor::empty(c.saved(0).shape());
    for (std::int64_t i = 0; i < dx.numel(); ++i) dx.data<float>()[i] = at(dy[0], 0);
    return {dx};
  }
};
struct WrongCount : CustomOp {
  Tensors forward(Ctx&, TensorSpan in) override { return {in[0].clone()}; }
  Tensors backward(Ctx&, TensorSpan dy) override { return {dy[0], dy[0]}; }
};

}  // namespace

TEST_CASE("a tape gives the gradients of variables through shared values and several outputs", "[autograd]") {
  const Var a(values({1, 2, 3}), "a"), b(values({4, 5, 6}), "b");
  Tape tape;
  const auto ps = apply<MulAdd>(a, b);
  const auto qs = apply<MulAdd>(ps[0], ps[1]);  // q = a b (a + b)
  const GradStore g = tape.backward(apply<Sum>(qs[0]));
  for (int i = 0; i < 3; ++i) {
    const float x = at(a.tensor(), i), y = at(b.tensor(), i);
    CHECK(at(g[a], i) == 2 * x * y + y * y);
    CHECK(at(g[b], i) == 2 * x * y + x * x);
  }
  CHECK(g.size() == 2);
}

TEST_CASE("a value that does not reach the loss gets no gradient", "[autograd]") {
  const Var a(values({1, 2})), b(values({3, 4}));
  Tape tape;
  const auto unused = apply<MulAdd>(b, b);
  const GradStore g = tape.backward(apply<Sum>(a));
  CHECK(g.contains(a));
  CHECK_FALSE(g.contains(b));
  CHECK_FALSE(g[b].defined());
}

TEST_CASE("nothing is recorded without a tape, under NoGrad, or for constants", "[autograd]") {
  const Var a(values({1, 2}));
  CHECK(apply<Sum>(a).grad_id() == 0);
  Tape tape;
  CHECK(apply<Sum>(values({1, 2})).grad_id() == 0);
  {
    const NoGrad off;
    CHECK(Tape::active() == nullptr);
    CHECK(apply<Sum>(a).grad_id() == 0);
  }
  CHECK(Tape::active() == &tape);
  CHECK(tape.size() == 0);
  CHECK(apply<Sum>(a).grad_id() != 0);
  CHECK(tape.size() == 1);
}

TEST_CASE("values of an outer tape are constants to an inner one", "[autograd]") {
  const Var a(values({2, 3}));
  Tape outer;
  const auto ps = apply<MulAdd>(a, a);
  {
    Tape inner;
    CHECK(apply<Sum>(ps[0]).grad_id() == 0);
    CHECK(inner.size() == 0);
  }
  CHECK(at(outer.backward(apply<Sum>(ps[0]))[a], 0) == 4);
}

TEST_CASE("a saved tensor that was changed in place is refused", "[autograd]") {
  const Var a(values({1, 2}));
  Tape tape;
  const Tensor loss = apply<Sum>(apply<MulAdd>(a, a)[0]);
  a.assign(values({5, 6}));
  CHECK_THROWS_AS(tape.backward(loss), Error);
}

TEST_CASE("a tape is used once, and only for a loss of one element that depends on a variable", "[autograd]") {
  const Var a(values({1, 2}));
  Tape tape;
  const Tensor loss = apply<Sum>(a);
  CHECK_THROWS_AS(tape.backward(a.tensor()), Error);
  CHECK_THROWS_AS(tape.backward(values({1})), Error);
  tape.backward(loss);
  CHECK_THROWS_AS(tape.backward(loss), Error);
  CHECK_THROWS_AS(apply<Sum>(a), Error);
}

TEST_CASE("parts of a tracked tensor are constants, reshaped views are not", "[autograd]") {
  const Var a(values({1, 2, 3, 4}));
  CHECK(a.tensor().slice(0, 0, 2).grad_id() == 0);
  CHECK(a.tensor().clone().grad_id() == 0);
  Tape tape;
  const GradStore g = tape.backward(apply<Sum>(apply<MulAdd>(a.tensor().reshape({2, 2}), a.tensor().reshape({2, 2}))[0]));
  CHECK(at(g[a].reshape({4}), 3) == 8);
}

TEST_CASE("gradients of micro-batches add up and leave the parts as they were", "[autograd]") {
  const Var a(values({1, 2}));
  GradStore first, second;
  first.add(a, values({1, 2}));
  second.add(a, values({10, 20}));
  GradStore total;
  total.add(first);
  total.add(second);
  CHECK(at(total[a], 1) == 22);
  CHECK(at(first[a], 1) == 2);
  total.scale(0.5f);
  CHECK(at(total[a], 0) == 5.5f);
  CHECK(at(second[a], 0) == 10);
}

TEST_CASE("a checkpointed part runs again and gives the same gradients, its variables included", "[autograd]") {
  const Var a(values({1, 2})), inner(values({3, 5}));
  int runs = 0, again = 0;
  const CheckpointBody body = [&](std::span<const Tensor> in, bool recompute) {
    ++runs;
    again += recompute;
    return std::vector<Tensor>{apply<MulAdd>(in[0], inner)[0]};
  };
  Tape tape;
  const Tensor x = apply<MulAdd>(a, a)[0];
  const Tensor y = checkpoint(body, std::vector<Tensor>{x})[0];
  CHECK(tape.size() == 2);
  const GradStore g = tape.backward(apply<Sum>(y));
  CHECK(runs == 2);
  CHECK(again == 1);
  CHECK(at(g[a], 1) == 2 * 2 * 5);
  CHECK(at(g[inner], 1) == 4);
}

TEST_CASE("a checkpoint around constants records nothing", "[autograd]") {
  Tape tape;
  const auto y =
      checkpoint([](std::span<const Tensor> in, bool) { return std::vector<Tensor>{in[0].clone()}; }, std::vector<Tensor>{values({1})});
  CHECK(y[0].grad_id() == 0);
  CHECK(tape.size() == 0);
}

TEST_CASE("a custom op with a wrong number of gradients is an error", "[autograd]") {
  const Var a(values({1, 2}));
  Tape tape;
  const Tensor y = apply<WrongCount>(a);
  const Tensor loss = apply<Sum>(y);
  CHECK_THROWS_AS(tape.backward(loss), Error);
}

TEST_CASE("integers cannot be variables; assign checks shape and type", "[autograd]") {
  CHECK_THROWS_AS(Var(Tensor::from(std::vector<std::int32_t>{1}, {1})), Error);
  const Var a(values({1, 2}));
  CHECK_THROWS_AS(a.assign(values({1})), Error);
  CHECK_THROWS_AS(a.assign(Tensor::empty({2}, DType::f16)), Error);
}
