// SPDX-License-Identifier: Apache-2.0
// Norms and the quantization of activations.
#include "src/ops/check.hpp"

namespace hz {

Tensor rms_norm(const Tensor& x, const Tensor& w, float eps) {
  ops::row_of("rms_norm", x, w, "w");
  Tensor y = ops::like(x);
  backend_of(x).rms_norm(x, w, eps, y);
  return y;
}

Tensor layer_norm(const Tensor& x, const Tensor& w, const Tensor& b, float eps) {
  ops::row_of("layer_norm", x, w, "w");
  ops::row_of("layer_norm", x, b, "b");
  Tensor y = ops::like(x);
  backend_of(x).layer_norm(x, w, b, eps, y);
  return y;
}

QAct quantize_activations(const Tensor& x) {
  QAct q = QAct::empty(x.rows(), x.cols(), x.device());
  backend_of(x).quantize(x, q);
  return q;
}

}  // namespace hz
