// SPDX-License-Identifier: Apache-2.0
// Elementwise ops.
#include "src/ops/check.hpp"

namespace hz {

Tensor add(const Tensor& a, const Tensor& b) {
  ops::same_shape("add", a, b);
  Tensor y = ops::like(a);
  backend_of(a).add(a, b, y);
  return y;
}

Tensor add_row(const Tensor& a, const Tensor& row) {
  ops::row_of("add_row", a, row, "row");
  Tensor y = ops::like(a);
  backend_of(a).add_row(a, row, y);
  return y;
}

Tensor mul(const Tensor& a, const Tensor& b) {
  ops::same_shape("mul", a, b);
  Tensor y = ops::like(a);
  backend_of(a).mul(a, b, y);
  return y;
}

Tensor scale(const Tensor& a, float s) {
  Tensor y = ops::like(a);
  backend_of(a).scale(a, s, y);
  return y;
}

Tensor unary(Unary kind, const Tensor& a) {
  Tensor y = ops::like(a);
  backend_of(a).unary(kind, a, y);
  return y;
}

Tensor softcap(const Tensor& a, float cap) {
  if (!(cap > 0)) ops::bad("softcap", "a cap of " + std::to_string(cap) + " is not positive");
  Tensor y = ops::like(a);
  backend_of(a).softcap(a, cap, y);
  return y;
}

Tensor glu(Unary kind, const Tensor& gate, const Tensor& up) {
  ops::same_shape("glu", gate, up);
  Tensor y = ops::like(gate);
  backend_of(gate).glu(kind, gate, up, y);
  return y;
}

Tensor softmax(const Tensor& x) {
  Tensor y = ops::like(x);
  backend_of(x).softmax(x, y);
  return y;
}

}  // namespace hz
