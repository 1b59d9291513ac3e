// SPDX-License-Identifier: Apache-2.0
// Rope, the KV cache and attention.
#include "src/ops/check.hpp"

namespace hz {

Tensor rope(Rope kind, const Tensor& x, std::span<const std::int32_t> positions, const Tensor& table, int heads) {
  if (heads <= 0 || x.cols() % heads != 0) ops::bad("rope", "rows of " + std::to_string(x.cols()) + " do not divide into " + std::to_string(heads) + " heads");
  if (static_cast<std::int64_t>(positions.size()) != x.rows()) ops::bad("rope", std::to_string(positions.size()) + " positions for " + std::to_string(x.rows()) + " rows");
  if (2 * table.size(1) > x.cols() / heads) ops::bad("rope", "the table rotates more dimensions than a head has");
  for (const std::int32_t p : positions)
    if (p < 0 || p >= table.size(0)) ops::bad("rope", "position " + std::to_string(p) + " is outside the table of " + std::to_string(table.size(0)));
  Tensor y = ops::like(x);
  backend_of(x).rope(kind, x, positions, table, heads, y);
  return y;
}

void kv_write(const KvBatch& kv, const Tensor& k, const Tensor& v) {
  if (k.cols() != static_cast<std::int64_t>(kv.layout.heads) * kv.layout.head_dim || v.cols() != static_cast<std::int64_t>(kv.layout.heads) * kv.layout.value_dim)
    ops::bad("kv_write", "rows of " + std::to_string(k.cols()) + " and " + std::to_string(v.cols()) + " do not fit the cache's heads");
  backend_of(k).kv_write(kv, k, v);
}

Tensor attention(const AttentionArgs& args, const Tensor& q, int heads) {
  const KvLayout& l = args.kv.layout;
  if (heads <= 0 || l.heads <= 0 || heads % l.heads != 0) ops::bad("attention", std::to_string(heads) + " heads over " + std::to_string(l.heads) + " kv heads");
  if (q.cols() != static_cast<std::int64_t>(heads) * l.head_dim) ops::bad("attention", "q has rows of " + std::to_string(q.cols()));
  Tensor y = Tensor::empty({q.rows(), static_cast<std::int64_t>(heads) * l.value_dim}, DType::f32, q.device());
  backend_of(q).attention(args, q, heads, y);
  return y;
}

}  // namespace hz
