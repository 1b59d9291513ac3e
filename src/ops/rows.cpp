// SPDX-License-Identifier: Apache-2.0
// Rows of a matrix, with gradients: slices and picks.
#include <algorithm>
#include <vector>

#include "src/ops/check.hpp"

namespace hz {

using autograd::id_of;
using autograd::record;
using autograd::recording;

// y = x[begin:end]: dx is dy there and zero elsewhere.
Tensor slice_rows(const Tensor& x, std::int64_t begin, std::int64_t end) {
  Tensor y = x.slice(0, begin, end);
  if (Tape* tape = recording({id_of(x)}))
    record(tape, "slice_rows", {id_of(x)}, y, [begin, shape = x.shape(), device = x.device()](Backward& g) {
      Tensor dx = Tensor::zeros(shape, DType::f32, device);
      const std::int64_t width = shape[0] == 0 ? 0 : shape.numel() / shape[0];
      std::copy_n(g.dy().data<float>(), g.dy().numel(), dx.data<float>() + begin * width);
      g.give(0, dx);
    });
  return y;
}

// y[i] = x[rows[i]]: dx[rows[i]] += dy[i], i ascending.
Tensor pick_rows(const Tensor& x, std::span<const std::int32_t> rows) {
  const std::int64_t n = x.cols();
  Tensor y = Tensor::empty({static_cast<std::int64_t>(rows.size()), n}, DType::f32, x.device());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i] < 0 || rows[i] >= x.rows()) ops::bad("pick_rows", "row " + std::to_string(rows[i]) + " of " + std::to_string(x.rows()));
    const auto bytes = static_cast<std::size_t>(n) * sizeof(float);
    x.device().memory().copy(*x.storage(), x.byte_offset() + static_cast<std::size_t>(rows[i]) * bytes, *y.storage(), i * bytes, bytes);
  }
  if (Tape* tape = recording({id_of(x)}))
    record(tape, "pick_rows", {id_of(x)}, y,
           [picked = std::vector<std::int32_t>(rows.begin(), rows.end()), shape = x.shape(), device = x.device()](Backward& g) {
             Tensor dx = Tensor::zeros(shape, DType::f32, device);
             const std::int64_t cols = dx.cols();
             for (std::size_t i = 0; i < picked.size(); ++i) {
               const float* from = g.dy().data<float>() + static_cast<std::int64_t>(i) * cols;
               float* to = dx.data<float>() + picked[i] * cols;
               for (std::int64_t j = 0; j < cols; ++j) to[j] += from[j];
             }
             g.give(0, dx);
           });
  return y;
}

}  // namespace hz
