// SPDX-License-Identifier: Apache-2.0
// Embedding lookup.
#include <vector>

#include "src/ops/check.hpp"

namespace hz {
namespace {

using autograd::id_of;
using autograd::record;
using autograd::recording;

void check_ids(const Tensor& ids, std::int64_t vocab) {
  for (const std::int32_t id : ids.span<std::int32_t>())
    if (id < 0 || id >= vocab)
      ops::bad("embed", "token id " + std::to_string(id) + " is outside the vocabulary of " + std::to_string(vocab));
}

}  // namespace

Tensor embed(const QTensor& table, const Tensor& ids, Device device) {
  check_ids(ids, table.rows());
  Tensor y = Tensor::empty({ids.numel(), table.cols()}, DType::f32, device);
  backend_of(y).embed(table, ids, y);
  return y;
}

// y[i] = table[ids[i]]: dtable[ids[i]] += dy[i], i ascending.
Tensor embed(const Tensor& table, const Tensor& ids) {
  check_ids(ids, table.rows());
  const std::int64_t n = table.cols();
  Tensor y = Tensor::empty({ids.numel(), n}, DType::f32, table.device());
  const auto rows = ids.span<const std::int32_t>();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    float* to = y.data<float>() + static_cast<std::int64_t>(i) * n;
    for (std::int64_t j = 0; j < n; ++j) to[j] = ops::dense_value(table, rows[i] * n + j);
  }
  if (Tape* tape = recording({id_of(table)}))
    record(tape, "embed", {id_of(table)}, y,
           [picked = std::vector<std::int32_t>(rows.begin(), rows.end()), shape = table.shape(), device = table.device()](Backward& g) {
             Tensor dtable = Tensor::zeros(shape, DType::f32, device);
             const std::int64_t cols = dtable.cols();
             for (std::size_t i = 0; i < picked.size(); ++i) {
               const float* from = g.dy().data<float>() + static_cast<std::int64_t>(i) * cols;
               float* to = dtable.data<float>() + picked[i] * cols;
               for (std::int64_t j = 0; j < cols; ++j) to[j] += from[j];
             }
             g.give(0, dtable);
           });
  return y;
}

}  // namespace hz
