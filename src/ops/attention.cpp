// SPDX-License-Identifier: Apache-2.0
// Rope, the KV cache and attention.
#include <vector>

#include "src/ops/check.hpp"

namespace hz {

using autograd::id_of;
using autograd::record;
using autograd::recording;

// A rotation: its gradient is the rotation back.
Tensor rope(Rope kind, const Tensor& x, std::span<const std::int32_t> positions, const Tensor& table, int heads) {
  if (heads <= 0 || x.cols() % heads != 0)
    ops::bad("rope", "rows of " + std::to_string(x.cols()) + " do not divide into " + std::to_string(heads) + " heads");
  if (static_cast<std::int64_t>(positions.size()) != x.rows())
    ops::bad("rope", std::to_string(positions.size()) + " positions for " + std::to_string(x.rows()) + " rows");
  if (2 * table.size(1) > x.cols() / heads) ops::bad("rope", "the table rotates more dimensions than a head has");
  for (const std::int32_t p : positions)
    if (p < 0 || p >= table.size(0))
      ops::bad("rope", "position " + std::to_string(p) + " is outside the table of " + std::to_string(table.size(0)));
  Tensor y = ops::like(x);
  backend_of(x).rope(kind, x, positions, table, heads, y);
  if (Tape* tape = recording({id_of(x)}))
    record(tape, "rope", {id_of(x)}, y,
           [kind, at = std::vector<std::int32_t>(positions.begin(), positions.end()), table = Saved(table), heads](Backward& g) {
             Tensor dx = ops::like(g.dy());
             backend_of(dx).rope_grad(kind, g.dy(), at, table.get(), heads, dx);
             g.give(0, dx);
           });
  return y;
}

// Not recorded: attention sends the gradients of the stored rows to args.k and args.v.
void kv_write(const KvBatch& kv, const Tensor& k, const Tensor& v) {
  if (k.cols() != static_cast<std::int64_t>(kv.layout.heads) * kv.layout.head_dim ||
      v.cols() != static_cast<std::int64_t>(kv.layout.heads) * kv.layout.value_dim)
    ops::bad("kv_write", "rows of " + std::to_string(k.cols()) + " and " + std::to_string(v.cols()) + " do not fit the cache's heads");
  backend_of(k).kv_write(kv, k, v);
}

namespace ops {

void check_attention(const AttentionArgs& args, const Tensor& q, int heads) {
  const KvLayout& l = args.kv.layout;
  if (heads <= 0 || l.heads <= 0 || heads % l.heads != 0)
    bad("attention", std::to_string(heads) + " heads over " + std::to_string(l.heads) + " kv heads");
  if (q.cols() != static_cast<std::int64_t>(heads) * l.head_dim) bad("attention", "q has rows of " + std::to_string(q.cols()));
}

std::uint64_t attention_id(const Tensor* t) { return t != nullptr && t->defined() ? t->grad_id() : 0; }

std::function<void(Backward&)> attention_backward(const AttentionArgs& args, const Tensor& q, int heads, const Tensor& out,
                                                  const Tensor& stats) {
  struct Kept {
    AttentionArgs args;
    std::vector<KvSegment> segments;
    Saved q, out, stats, sinks, slopes;
    int heads;
  };
  Kept kept{args,
            {args.kv.segments.begin(), args.kv.segments.end()},
            q,
            out,
            stats,
            args.sinks ? Saved(*args.sinks) : Saved(),
            args.slopes ? Saved(*args.slopes) : Saved(),
            heads};
  return [kept = std::move(kept)](Backward& g) {
    const KvLayout& l = kept.args.kv.layout;
    AttentionArgs a = kept.args;
    a.kv.segments = kept.segments;
    Tensor s = kept.stats.get();
    a.stats = &s;
    a.sinks = kept.sinks.defined() ? &kept.sinks.get() : nullptr;
    a.slopes = kept.slopes.defined() ? &kept.slopes.get() : nullptr;
    const Tensor& q = kept.q.get();
    const auto rows = [&](bool wanted, std::int64_t cols) {
      return wanted ? Tensor::empty({q.rows(), cols}, DType::f32, q.device()) : Tensor();
    };
    Tensor dq = rows(g.wants(0), q.cols()), dk = rows(g.wants(1), static_cast<std::int64_t>(l.heads) * l.head_dim),
           dv = rows(g.wants(2), static_cast<std::int64_t>(l.heads) * l.value_dim);
    Tensor dsinks = g.wants(3) ? Tensor::empty({kept.heads}, DType::f32, q.device()) : Tensor();
    const auto out_of = [](Tensor& t) { return t.defined() ? &t : nullptr; };
    backend_of(q).attention_grad(a, q, kept.heads, kept.out.get(), g.dy(), {out_of(dq), out_of(dk), out_of(dv), out_of(dsinks)});
    g.give(0, dq);
    g.give(1, dk);
    g.give(2, dv);
    g.give(3, dsinks);
  };
}

}  // namespace ops

Tensor attention(const AttentionArgs& args, const Tensor& q, int heads) {
  ops::check_attention(args, q, heads);
  Tensor y = Tensor::empty({q.rows(), static_cast<std::int64_t>(heads) * args.kv.layout.value_dim}, DType::f32, q.device());
  const std::uint64_t k = ops::attention_id(args.k), v = ops::attention_id(args.v), sinks = ops::attention_id(args.sinks);
  Tape* tape = recording({id_of(q), k, v, sinks});
  if (tape == nullptr) {
    backend_of(q).attention(args, q, heads, y);
    return y;
  }
  AttentionArgs with_stats = args;
  Tensor stats = Tensor::empty({q.rows(), heads, 2}, DType::f32, q.device());
  with_stats.stats = &stats;
  backend_of(q).attention(with_stats, q, heads, y);
  record(tape, "attention", {id_of(q), k, v, sinks}, y, ops::attention_backward(args, q, heads, y, stats));
  return y;
}

}  // namespace hz
