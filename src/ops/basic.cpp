// SPDX-License-Identifier: Apache-2.0
// Elementwise ops: each beside its gradient.
#include <algorithm>

#include "hanzo/core/parallel.hpp"
#include "src/ops/check.hpp"

namespace hz {

using autograd::id_of;
using autograd::record;
using autograd::recording;

// y = a + b: da = dy, db = dy.
Tensor add(const Tensor& a, const Tensor& b) {
  ops::same_shape("add", a, b);
  Tensor y = ops::like(a);
  backend_of(a).add(a, b, y);
  if (Tape* tape = recording({id_of(a), id_of(b)}))
    record(tape, "add", {id_of(a), id_of(b)}, y, [](Backward& g) {
      g.give(0, g.dy());
      g.give(1, g.dy());
    });
  return y;
}

// y = a + row: da = dy, drow = the sum over dy's rows.
Tensor add_row(const Tensor& a, const Tensor& row) {
  ops::row_of("add_row", a, row, "row");
  Tensor y = ops::like(a);
  backend_of(a).add_row(a, row, y);
  if (Tape* tape = recording({id_of(a), id_of(row)}))
    record(tape, "add_row", {id_of(a), id_of(row)}, y, [shape = row.shape()](Backward& g) {
      g.give(0, g.dy());
      if (g.wants(1)) g.give(1, ops::column_sum(g.dy(), shape));
    });
  return y;
}

// y = a b: da = dy b, db = dy a.
Tensor mul(const Tensor& a, const Tensor& b) {
  ops::same_shape("mul", a, b);
  Tensor y = ops::like(a);
  backend_of(a).mul(a, b, y);
  if (Tape* tape = recording({id_of(a), id_of(b)}))
    record(tape, "mul", {id_of(a), id_of(b)}, y, [a = Saved(a), b = Saved(b)](Backward& g) {
      if (g.wants(0)) g.give(0, mul(g.dy(), b.get()));
      if (g.wants(1)) g.give(1, mul(g.dy(), a.get()));
    });
  return y;
}

// y = a * row: da = dy * row, drow = the column sums of dy a.
Tensor mul_row(const Tensor& a, const Tensor& row) {
  ops::row_of("mul_row", a, row, "row");
  Tensor y = ops::like(a);
  backend_of(a).mul_row(a, row, y);
  if (Tape* tape = recording({id_of(a), id_of(row)}))
    record(tape, "mul_row", {id_of(a), id_of(row)}, y, [a = Saved(a), row = Saved(row)](Backward& g) {
      if (g.wants(0)) g.give(0, mul_row(g.dy(), row.get()));
      if (g.wants(1)) g.give(1, ops::column_sum(mul(g.dy(), a.get()), row.get().shape()));
    });
  return y;
}

// y = s a: da = s dy.
Tensor scale(const Tensor& a, float s) {
  Tensor y = ops::like(a);
  backend_of(a).scale(a, s, y);
  if (Tape* tape = recording({id_of(a)}))
    record(tape, "scale", {id_of(a)}, y, [s](Backward& g) { g.give(0, scale(g.dy(), s)); });
  return y;
}

Tensor add_scalar(const Tensor& a, float s) {
  Tensor row = Tensor::empty({a.cols()}, DType::f32, a.device());
  std::fill_n(row.data<float>(), row.numel(), s);
  return add_row(a, row);
}

// y = f(a): da = dy f'(a).
Tensor unary(Unary kind, const Tensor& a) {
  Tensor y = ops::like(a);
  backend_of(a).unary(kind, a, y);
  if (Tape* tape = recording({id_of(a)}))
    record(tape, "unary", {id_of(a)}, y, [kind, a = Saved(a)](Backward& g) {
      Tensor da = ops::like(a.get());
      backend_of(da).unary_grad(kind, a.get(), g.dy(), da);
      g.give(0, da);
    });
  return y;
}

// y = c tanh(a / c): da = dy (1 - (y / c)^2).
Tensor softcap(const Tensor& a, float cap) {
  if (!(cap > 0)) ops::bad("softcap", "a cap of " + std::to_string(cap) + " is not positive");
  Tensor y = ops::like(a);
  backend_of(a).softcap(a, cap, y);
  if (Tape* tape = recording({id_of(a)}))
    record(tape, "softcap", {id_of(a)}, y, [cap, y = Saved(y)](Backward& g) {
      Tensor da = ops::like(y.get());
      backend_of(da).softcap_grad(y.get(), cap, g.dy(), da);
      g.give(0, da);
    });
  return y;
}

// y = f(gate) up: dgate = dy up f'(gate), dup = dy f(gate).
Tensor glu(Unary kind, const Tensor& gate, const Tensor& up) {
  ops::same_shape("glu", gate, up);
  Tensor y = ops::like(gate);
  backend_of(gate).glu(kind, gate, up, y);
  if (Tape* tape = recording({id_of(gate), id_of(up)})) record(tape, "glu", {id_of(gate), id_of(up)}, y, ops::glu_backward(kind, gate, up));
  return y;
}

// y = softmax(x): dx = y (dy - sum(y dy)).
Tensor softmax(const Tensor& x) {
  Tensor y = ops::like(x);
  backend_of(x).softmax(x, y);
  if (Tape* tape = recording({id_of(x)}))
    record(tape, "softmax", {id_of(x)}, y, [y = Saved(y)](Backward& g) {
      Tensor dx = ops::like(y.get());
      backend_of(dx).softmax_grad(y.get(), g.dy(), dx);
      g.give(0, dx);
    });
  return y;
}

// y = x mask / (1 - p): dx = dy mask / (1 - p).
Tensor dropout(const Tensor& x, float p, Seed seed, std::uint64_t stream) {
  if (!(p >= 0 && p < 1)) ops::bad("dropout", "a probability of " + std::to_string(p) + " is outside [0, 1)");
  Tensor mask = ops::like(x);
  const float keep = 1.0f / (1.0f - p);
  parallel_for(default_threads(), (x.numel() + 3) / 4, 4096, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const auto words = philox(seed.value, stream, static_cast<std::uint64_t>(i));
      for (std::int64_t j = 4 * i; j < std::min(x.numel(), 4 * i + 4); ++j)
        mask.data<float>()[j] = static_cast<float>(words[static_cast<std::size_t>(j - 4 * i)] >> 8) * 0x1p-24f < p ? 0.0f : keep;
    }
  });
  return mul(x, mask);
}

// y = the sum of all elements, rows first: dx = dy everywhere.
Tensor sum(const Tensor& x) {
  const Tensor columns = ops::column_sum(x, {x.cols()});
  Tensor y = ops::column_sum(columns.reshape({x.cols(), 1}), {1});
  if (Tape* tape = recording({id_of(x)}))
    record(tape, "sum", {id_of(x)}, y, [shape = x.shape(), device = x.device()](Backward& g) {
      Tensor dx = Tensor::empty(shape, DType::f32, device);
      std::fill_n(dx.data<float>(), dx.numel(), g.dy().item());
      g.give(0, dx);
    });
  return y;
}

}  // namespace hz
