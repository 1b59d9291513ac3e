// SPDX-License-Identifier: Apache-2.0
// Gradients shared by ops and fused stages.
#include "hanzo/ops/grad.hpp"

#include "src/ops/check.hpp"

namespace hz::ops {

Tensor column_sum(const Tensor& a, const Shape& shape) {
  Tensor out = Tensor::empty({a.cols()}, DType::f32, a.device());
  backend_of(a).column_sum(a, out);
  return out.reshape(shape);
}

std::function<void(Backward&)> glu_backward(Unary kind, const Tensor& gate, const Tensor& up) {
  return [kind, gate = Saved(gate), up = Saved(up)](Backward& g) {
    Tensor dgate = g.wants(0) ? like(gate.get()) : Tensor(), dup = g.wants(1) ? like(up.get()) : Tensor();
    backend_of(gate.get()).glu_grad(kind, gate.get(), up.get(), g.dy(), g.wants(0) ? &dgate : nullptr, g.wants(1) ? &dup : nullptr);
    g.give(0, dgate);
    g.give(1, dup);
  };
}

}  // namespace hz::ops
