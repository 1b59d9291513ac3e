// SPDX-License-Identifier: Apache-2.0
// Embedding lookup.
#include "src/ops/check.hpp"

namespace hz {

Tensor embed(const QTensor& table, const Tensor& ids, Device device) {
  for (const std::int32_t id : ids.span<std::int32_t>())
    if (id < 0 || id >= table.rows())
      ops::bad("embed", "token id " + std::to_string(id) + " is outside the vocabulary of " + std::to_string(table.rows()));
  Tensor y = Tensor::empty({ids.numel(), table.cols()}, DType::f32, device);
  backend_of(y).embed(table, ids, y);
  return y;
}

}  // namespace hz
