// SPDX-License-Identifier: Apache-2.0
// Products with weights.
#include "src/ops/check.hpp"

namespace hz {

Tensor qmatmul(const QTensor& w, const Tensor& x) {
  if (x.cols() != w.cols())
    ops::bad("qmatmul", "weight " + w.name() + " " + std::string(name_of(w.wtype())) + " " + to_string(w.shape()) + " needs x with " +
                            std::to_string(w.cols()) + " columns, got " + std::to_string(x.cols()));
  Tensor y = Tensor::empty({x.rows(), w.rows()}, DType::f32, x.device());
  LinearJob job{.w = &w, .y = &y};
  QAct q;
  if (quant::info(w.wtype()).floating) {
    job.x = &x;
  } else {
    q = quantize_activations(x);
    job.q = &q;
  }
  backend_of(x).linear({&job, 1});
  return y;
}

}  // namespace hz
