// SPDX-License-Identifier: Apache-2.0
// Norms and the quantization of activations.
#include "src/ops/check.hpp"

namespace hz {
namespace {

using autograd::id_of;
using autograd::record;
using autograd::recording;

// dx, dw, db of a norm of x (rows of w.cols, or of x's).
auto norm_backward(NormKind kind, const Tensor& x, const Tensor& w, const Tensor& b, float eps) {
  return [kind, eps, x = Saved(x), w = Saved(w), shape = b.shape()](Backward& g) {
    ops::NormGrads d = ops::norm_grad({kind, &w.get(), nullptr, eps}, x.get(), g.dy(), g.wants(0), g.wants(1), g.wants(2));
    g.give(0, d.dx);
    if (g.wants(1)) g.give(1, d.dw.reshape(w.get().shape()));
    if (g.wants(2)) g.give(2, d.db.reshape(shape));
  };
}

}  // namespace

Tensor rms_norm(const Tensor& x, const Tensor& w, float eps) {
  ops::row_of("rms_norm", x, w, "w");
  Tensor y = ops::like(x);
  backend_of(x).rms_norm(x, w, eps, y);
  if (Tape* tape = recording({id_of(x), id_of(w)}))
    record(tape, "rms_norm", {id_of(x), id_of(w), 0}, y, norm_backward(NormKind::rms, x, w, {}, eps));
  return y;
}

Tensor layer_norm(const Tensor& x, const Tensor& w, const Tensor& b, float eps) {
  ops::row_of("layer_norm", x, w, "w");
  ops::row_of("layer_norm", x, b, "b");
  Tensor y = ops::like(x);
  backend_of(x).layer_norm(x, w, b, eps, y);
  if (Tape* tape = recording({id_of(x), id_of(w), id_of(b)}))
    record(tape, "layer_norm", {id_of(x), id_of(w), id_of(b)}, y, norm_backward(NormKind::layer, x, w, b, eps));
  return y;
}

namespace ops {
NormGrads norm_grad(const NormArgs& norm, const Tensor& x, const Tensor& dy, bool want_dx, bool want_dw, bool want_db) {
  NormGrads d;
  if (want_dx) d.dx = like(x);
  if (want_dw) d.dw = Tensor::empty({x.cols()}, DType::f32, x.device());
  if (want_db) d.db = Tensor::empty({x.cols()}, DType::f32, x.device());
  backend_of(x).norm_grad(norm, x, dy, want_dx ? &d.dx : nullptr, want_dw ? &d.dw : nullptr, want_db ? &d.db : nullptr);
  return d;
}
}  // namespace ops

// Straight-through: the gradient of the codes is that of x.
QAct quantize_activations(const Tensor& x) {
  if (x.cols() % 32 != 0) ops::bad("quantize_activations", "rows of " + std::to_string(x.cols()) + ", which 32 does not divide");
  QAct q = QAct::empty(x.rows(), x.cols(), x.device());
  backend_of(x).quantize(x, q);
  q.grad_id = x.grad_id();
  return q;
}

}  // namespace hz
