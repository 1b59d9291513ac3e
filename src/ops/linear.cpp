// SPDX-License-Identifier: Apache-2.0
// Products with weights.
#include "src/ops/check.hpp"

namespace hz {

using autograd::id_of;
using autograd::record;
using autograd::recording;

// y = x w^T: dx = dy w, straight through the quantization of x; w is frozen.
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
  if (Tape* tape = recording({id_of(x)}))
    record(tape, "qmatmul", {id_of(x)}, y, [w, shape = x.shape(), device = x.device()](Backward& g) {
      Tensor dx = Tensor::empty(shape, DType::f32, device);
      const InputGradJob back{.w = &w, .dy = &g.dy()};
      backend_of(dx).linear_input_grad({&back, 1}, dx);
      g.give(0, dx);
    });
  return y;
}

// y = x w^T: dx = dy w, dw = dy^T x.
Tensor matmul(const Tensor& w, const Tensor& x) {
  if (w.rank() != 2 || x.cols() != w.cols())
    ops::bad("matmul", "weight " + to_string(w.shape()) + " and x with " + std::to_string(x.cols()) + " columns");
  Tensor y = Tensor::empty({x.rows(), w.rows()}, DType::f32, x.device());
  const LinearJob job{.dense = &w, .x = &x, .y = &y};
  backend_of(x).linear({&job, 1});
  if (Tape* tape = recording({id_of(w), id_of(x)}))
    record(tape, "matmul", {id_of(w), id_of(x)}, y, [w = Saved(w), x = Saved(x)](Backward& g) {
      if (g.wants(0)) {
        Tensor dw = Tensor::empty(w.get().shape(), DType::f32, x.get().device());
        backend_of(dw).weight_grad(g.dy(), x.get(), dw);
        g.give(0, dw);
      }
      if (g.wants(1)) {
        Tensor dx = ops::like(x.get());
        const InputGradJob back{.dense = &w.get(), .dy = &g.dy()};
        backend_of(dx).linear_input_grad({&back, 1}, dx);
        g.give(1, dx);
      }
    });
  return y;
}

}  // namespace hz
