// SPDX-License-Identifier: Apache-2.0
// Fused stages: each equals its parts bit for bit, and is one record on a tape.
#include "hanzo/nn/linear.hpp"
#include "hanzo/ops/grad.hpp"

namespace hz::nn {
namespace {

using autograd::id_of;
using autograd::recording;

Tensor like(const Tensor& x) { return Tensor::empty(x.shape(), DType::f32, x.device()); }
std::uint64_t id_if(const Tensor* t) { return t != nullptr && t->defined() ? t->grad_id() : 0; }

// Floats and codes are one value to the tape.
Activation activation(Tensor y, QAct q, std::uint64_t id) {
  if (q.defined()) q.grad_id = id;
  if (y.defined()) y = y.with_grad_id(id);
  return {std::move(y), std::move(q)};
}

Tensor sum_of(const Tensor& a, const Tensor& b) {
  if (!a.defined() || !b.defined()) return a.defined() ? a : b;
  Tensor y = like(a);
  backend_of(a).add(a, b, y);
  return y;
}

}  // namespace

// sum = x + delta, y = norm(sum): dx = ddelta = dsum + the norm's gradient of dy.
Activation norm_stage(Tensor& x, const Tensor* delta, const NormArgs& norm, Wanted wanted) {
  Tensor sum = delta ? like(x) : Tensor(), y = wanted.floats ? like(x) : Tensor();
  QAct q = wanted.codes ? QAct::empty(x.rows(), x.cols(), x.device()) : QAct();
  backend_of(x).add_norm_quantize(x, delta, norm, delta ? &sum : nullptr, wanted.floats ? &y : nullptr, wanted.codes ? &q : nullptr);
  const std::uint64_t x_id = id_of(x), delta_id = id_if(delta), w_id = id_if(norm.w), b_id = id_if(norm.b);
  Tape* tape = recording({x_id, delta_id, w_id, b_id});
  if (tape == nullptr) {
    if (delta) x = sum;
    return {std::move(y), std::move(q)};
  }
  const Tensor at = delta ? sum : x;
  const Saved w = norm.w ? Saved(*norm.w) : Saved();
  const std::size_t last = delta ? 1 : 0;  // outputs: the sum where there is one, then y
  auto backward = [at = Saved(at), w, kind = norm.kind, eps = norm.eps, last](Backward& g) {
    Tensor dsum = last == 1 ? g.dy(0) : Tensor();
    if (g.dy(last).defined()) {
      const ops::NormGrads d =
          ops::norm_grad({kind, &w.get(), nullptr, eps}, at.get(), g.dy(last), g.wants(0) || g.wants(1), g.wants(2), g.wants(3));
      dsum = sum_of(dsum, d.dx);
      g.give(2, d.dw);
      g.give(3, d.db);
    }
    g.give(0, dsum);
    g.give(1, dsum);
  };
  const std::vector<Shape> shapes(last + 1, x.shape());
  const std::uint64_t id = tape->record({"norm_stage", {x_id, delta_id, w_id, b_id}, shapes, 0, std::move(backward)});
  if (delta) x = sum.with_grad_id(id);
  return activation(std::move(y), std::move(q), id + last);
}

Activation glu_stage(Unary kind, const Tensor& gate, const Tensor& up, Wanted wanted) {
  Tensor y = wanted.floats ? like(gate) : Tensor();
  QAct q = wanted.codes ? QAct::empty(gate.rows(), gate.cols(), gate.device()) : QAct();
  backend_of(gate).glu_quantize(kind, gate, up, wanted.floats ? &y : nullptr, wanted.codes ? &q : nullptr);
  Tape* tape = recording({id_of(gate), id_of(up)});
  const std::uint64_t id =
      tape ? tape->record({"glu_stage", {id_of(gate), id_of(up)}, {gate.shape()}, 0, ops::glu_backward(kind, gate, up)}) : 0;
  return activation(std::move(y), std::move(q), id);
}

Activation attention_stage(const AttentionArgs& args, const Tensor& q, int heads, Wanted wanted) {
  if (!wanted.codes) return Activation(attention(args, q, heads));
  ops::check_attention(args, q, heads);
  Tensor y = Tensor::empty({q.rows(), static_cast<std::int64_t>(heads) * args.kv.layout.value_dim}, DType::f32, q.device());
  QAct codes = QAct::empty(y.rows(), y.cols(), y.device());
  const std::uint64_t k = ops::attention_id(args.k), v = ops::attention_id(args.v), sinks = ops::attention_id(args.sinks);
  Tape* tape = recording({id_of(q), k, v, sinks});
  AttentionArgs with_stats = args;
  Tensor stats = tape ? Tensor::empty({q.rows(), heads, 2}, DType::f32, q.device()) : Tensor();
  if (tape) with_stats.stats = &stats;
  backend_of(q).attention_quantize(with_stats, q, heads, y, codes);
  const std::uint64_t id =
      tape ? tape->record({"attention_stage", {id_of(q), k, v, sinks}, {y.shape()}, 0, ops::attention_backward(args, q, heads, y, stats)})
           : 0;
  return activation(std::move(y), std::move(codes), id);
}

}  // namespace hz::nn
