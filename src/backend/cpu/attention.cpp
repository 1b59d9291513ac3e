// SPDX-License-Identifier: Apache-2.0
// The paged KV cache and attention: work is split over segments, kv heads and tiles of queries.
#include <atomic>
#include <cstring>

#include "src/backend/cpu/cpu.hpp"

namespace hz::cpu {
namespace {

std::size_t stride16(int n) { return (static_cast<std::size_t>(n) + 15) / 16 * 16; }
std::size_t round64(std::size_t n) { return (n + 63) / 64 * 64; }

// Bytes of K (first) or V of one head in a page; layouts in kernels/cpu/attention.hpp.
std::size_t k_bytes(const KvLayout& l) {
  const auto d = static_cast<std::size_t>(l.head_dim);
  if (l.kind == KvKind::q8_0) return round64(d * kKvPage + d / 32 * kKvPage * 2);
  return round64(d * kKvPage * (l.kind == KvKind::f16 ? 2 : 4));
}
std::size_t v_bytes(const KvLayout& l) {
  const std::size_t d = stride16(l.value_dim);
  if (l.kind == KvKind::q8_0) return round64(d * kKvPage + d / 32 * kKvPage * 2);
  return round64(d * kKvPage * (l.kind == KvKind::f16 ? 2 : 4));
}

}  // namespace

std::size_t CpuBackend::kv_layer_bytes(const KvLayout& layout) const {
  return static_cast<std::size_t>(layout.heads) * (k_bytes(layout) + v_bytes(layout));
}

void CpuBackend::kv_write(const KvBatch& kv, const Tensor& k, const Tensor& v) {
  const KvLayout& l = kv.layout;
  const std::size_t kb = k_bytes(l), head_bytes = kb + v_bytes(l);
  std::atomic<std::int64_t> bad{-1};
  for (const KvSegment& seg : kv.segments) {
    for_rows(seg.count, seg.count * k.cols(), [&](std::int64_t i) {
      const std::int64_t position = seg.position + i;
      auto* page = const_cast<std::byte*>(seg.pages[position / kKvPage]) + kv.layer_offset;
      for (int h = 0; h < l.heads; ++h) {
        std::byte* head = page + static_cast<std::size_t>(h) * head_bytes;
        if (!kernels_.kv_write(l.kind, k.data<float>() + (seg.row + i) * k.cols() + h * l.head_dim,
                               v.data<float>() + (seg.row + i) * v.cols() + h * l.value_dim, l.head_dim, l.value_dim,
                               static_cast<int>(position % kKvPage), head, head + kb))
          bad.store(position, std::memory_order_relaxed);
      }
    });
  }
  if (bad >= 0)
    throw Error(ErrorKind::numeric, "K or V at position " + std::to_string(bad) + " does not fit a half-precision cache", "", "use --kv f32");
}

void CpuBackend::attend(const AttentionArgs& args, const Tensor& q, int heads, Tensor& out, QAct* quantized) {
  const IeeeMode mode;
  const KvLayout& l = args.kv.layout;
  const int group = heads / l.heads;
  const std::size_t kb = k_bytes(l), head_bytes = kb + v_bytes(l);
  constexpr std::int64_t kTile = 8;  // tokens of one work item
  const bool in_place = quantized != nullptr && group * l.value_dim % 32 == 0;

  struct Item {
    const KvSegment* seg;
    std::int64_t token;
    int kv_head;
  };
  std::vector<Item> items;
  for (const KvSegment& seg : args.kv.segments)
    for (std::int64_t t = (seg.count - 1) / kTile * kTile; t >= 0; t -= kTile)  // the longest first
      for (int h = 0; h < l.heads; ++h) items.push_back({&seg, t, h});

  parallel_for(threads_, static_cast<std::int64_t>(items.size()), 1, [&](std::int64_t begin, std::int64_t end) {
    std::vector<AttendQuery> queries;
    for (std::int64_t n = begin; n < end; ++n) {
      const Item& item = items[static_cast<std::size_t>(n)];
      const KvSegment& seg = *item.seg;
      queries.clear();
      for (std::int64_t t = item.token; t < std::min(seg.count, item.token + kTile); ++t)
        for (int g = 0; g < group; ++g) {
          const int head = item.kv_head * group + g;
          const std::int64_t position = seg.position + t;
          const std::int64_t last = args.causal ? position + 1 : seg.position + seg.count;
          const std::int64_t first = std::max(seg.visible_from, args.window > 0 ? position + 1 - args.window : 0);
          queries.push_back({q.data<float>() + (seg.row + t) * q.cols() + head * l.head_dim,
                             out.data<float>() + (seg.row + t) * out.cols() + head * l.value_dim, first, last,
                             args.slopes ? args.slopes->data<float>()[head] : 0.0f, position,
                             args.stats ? args.stats->data<float>() + ((seg.row + t) * heads + head) * 2 : nullptr});
        }
      AttendArgs a{l.kind, l.head_dim, l.value_dim, args.scale, args.softcap, nullptr, seg.pages, 0, 0};
      a.k_offset = args.kv.layer_offset + static_cast<std::size_t>(item.kv_head) * head_bytes;
      a.v_offset = a.k_offset + kb;
      if (args.sinks == nullptr) kernels_.attend(a, queries.data(), static_cast<int>(queries.size()));
      for (std::size_t i = 0; args.sinks != nullptr && i < queries.size(); ++i) {  // one sink a head
        a.sink = args.sinks->data<float>() + item.kv_head * group + static_cast<int>(i) % group;
        kernels_.attend(a, &queries[i], 1);
      }
      // The heads of one item are neighbours in the row: groups of 32 within them are whole.
      const std::int64_t width = static_cast<std::int64_t>(group) * l.value_dim, column = item.kv_head * width;
      for (std::int64_t t = item.token; in_place && t < std::min(seg.count, item.token + kTile); ++t)
        quantize_row(out.data<float>() + (seg.row + t) * out.cols() + column, width, *quantized, seg.row + t, column);
    }
  });
  if (quantized != nullptr && !in_place) quantize(out, *quantized);
}

// One work item a segment and query head; heads that share K and V are added in ascending order.
void CpuBackend::attention_grad(const AttentionArgs& args, const Tensor& q, int heads, const Tensor& out, const Tensor& dout, const AttentionGrads& grads) {
  const IeeeMode mode;
  const KvLayout& l = args.kv.layout;
  const int group = heads / l.heads;
  const std::size_t kb = k_bytes(l), head_bytes = kb + v_bytes(l);
  std::vector<float> sinks(grads.dsinks != nullptr ? static_cast<std::size_t>(heads) : 0);
  for (Tensor* t : {grads.dq, grads.dk, grads.dv, grads.dsinks})
    if (t != nullptr) std::memset(t->raw(), 0, t->nbytes());
  for (const KvSegment& seg : args.kv.segments) {
    if (seg.count == 0) continue;
    const auto rows = static_cast<std::size_t>(seg.count);
    Tensor dq = Tensor::empty({heads, seg.count, l.head_dim}), dk = Tensor::zeros({heads, seg.count, l.head_dim}), dv = Tensor::zeros({heads, seg.count, l.value_dim});
    parallel_for(threads_, heads, 1, [&](std::int64_t begin, std::int64_t end) {
      std::vector<AttendQuery> queries(rows);
      std::vector<const float*> o(rows), d(rows);
      const auto scratch = allocate_host(kernels_.attend_grad_bytes);
      for (std::int64_t h = begin; h < end; ++h) {
        for (std::int64_t t = 0; t < seg.count; ++t) {
          const std::int64_t position = seg.position + t, row = seg.row + t;
          const auto at = static_cast<std::size_t>(t);
          queries[at] = {q.data<float>() + row * q.cols() + h * l.head_dim, nullptr, std::max(seg.visible_from, args.window > 0 ? position + 1 - args.window : 0),
                         args.causal ? position + 1 : seg.position + seg.count, args.slopes ? args.slopes->data<float>()[h] : 0.0f, position,
                         args.stats->data<float>() + (row * heads + h) * 2};
          o[at] = out.data<float>() + row * out.cols() + h * l.value_dim;
          d[at] = dout.data<float>() + row * dout.cols() + h * l.value_dim;
        }
        AttendArgs a{l.kind, l.head_dim, l.value_dim, args.scale, args.softcap, args.sinks ? args.sinks->data<float>() + h : nullptr, seg.pages, 0, 0};
        a.k_offset = args.kv.layer_offset + static_cast<std::size_t>(h / group) * head_bytes;
        a.v_offset = a.k_offset + kb;
        float sink = 0;
        kernels_.attend_grad(a, {queries.data(), o.data(), d.data(), seg.count, seg.position, dq.data<float>() + h * seg.count * l.head_dim,
                                 dk.data<float>() + h * seg.count * l.head_dim, dv.data<float>() + h * seg.count * l.value_dim, grads.dsinks && args.sinks ? &sink : nullptr, scratch->data});
        if (!sinks.empty()) sinks[static_cast<std::size_t>(h)] = sink;
      }
    });
    // [head][token][dim] to rows of tokens, `share` heads added into one.
    const auto gather = [&](const Tensor& from, int dim, int share, Tensor* to) {
      if (to == nullptr) return;
      for_rows(seg.count, from.numel(), [&](std::int64_t t) {
        for (std::int64_t h = 0; h < heads; ++h) {
          float* y = to->data<float>() + (seg.row + t) * to->cols() + h / share * dim;
          kernels_.add(y, from.data<float>() + (h * seg.count + t) * dim, dim, y);
        }
      });
    };
    gather(dq, l.head_dim, 1, grads.dq);
    gather(dk, l.head_dim, group, grads.dk);
    gather(dv, l.value_dim, group, grads.dv);
    for (std::size_t h = 0; h < sinks.size(); ++h) grads.dsinks->data<float>()[h] += sinks[h];
  }
}

}  // namespace hz::cpu
