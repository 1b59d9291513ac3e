// SPDX-License-Identifier: Apache-2.0
// The paged KV cache and attention: work is split over segments, kv heads and tiles of queries.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "src/backend/cpu/cpu.hpp"

namespace hz::cpu {
namespace {

std::size_t stride16(int n) { return (static_cast<std::size_t>(n) + 15) / 16 * 16; }
std::size_t round64(std::size_t n) { return (n + 63) / 64 * 64; }

// Bytes of K (first) or V of one head in a page; layouts in kernels/cpu/attention_pages.hpp.
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

// One query row; y is null where only the scores count.
AttendQuery query_of(const AttentionArgs& args, const KvSegment& seg, std::int64_t token, int head, int heads, const Tensor& q, float* y) {
  const std::int64_t position = seg.position + token, row = seg.row + token;
  AttendQuery made{.q = q.data<float>() + row * q.cols() + head * args.kv.layout.head_dim,
                   .out = y,
                   .first = seg.visible_from,
                   .last = args.causal ? position + 1 : seg.position + seg.count,
                   .slope = args.slopes ? args.slopes->data<float>()[head] : 0.0f,
                   .position = position};
  if (args.window > 0) made.first = std::max(made.first, position + 1 - args.window);
  if (args.sinks != nullptr) made.sink = args.sinks->data<float>() + head;
  if (args.stats != nullptr) made.stats = args.stats->data<float>() + (row * heads + head) * 2;
  return made;
}

// The pages of one kv head of a segment.
AttendArgs pages_of(const AttentionArgs& args, const KvSegment& seg, int kv_head) {
  const KvLayout& l = args.kv.layout;
  AttendArgs a{.kind = l.kind,
               .head_dim = l.head_dim,
               .value_dim = l.value_dim,
               .scale = args.scale,
               .softcap = args.softcap,
               .pages = seg.pages,
               .k_offset = 0,
               .v_offset = 0};
  a.k_offset = args.kv.layer_offset + static_cast<std::size_t>(kv_head) * (k_bytes(l) + v_bytes(l));
  a.v_offset = a.k_offset + k_bytes(l);
  return a;
}

// Attention as items of work: some tokens of a segment with one kv head, all query heads that share it.
class AttentionWork {
 public:
  struct Item {
    const KvSegment* seg;
    std::int64_t token;
    int kv_head;
  };

  AttentionWork(const CpuKernels& kernels, const AttentionArgs& args, const Tensor& q, int heads, Tensor& out)
      : kernels_(kernels),
        args_(args),
        q_(q),
        out_(out),
        heads_(heads),
        group_(heads / args.kv.layout.heads),
        tile_(std::max(1, kTileQueries / group_)) {
    for (const KvSegment& seg : args.kv.segments)
      for (std::int64_t t = (seg.count - 1) / tile_ * tile_; t >= 0; t -= tile_)  // the longest first
        for (int h = 0; h < args.kv.layout.heads; ++h) items_.push_back({&seg, t, h});
  }

  std::int64_t items() const { return static_cast<std::int64_t>(items_.size()); }
  const Item& item(std::int64_t n) const { return items_[static_cast<std::size_t>(n)]; }
  std::int64_t tokens(const Item& i) const { return std::min(tile_, i.seg->count - i.token); }
  int group() const { return group_; }

  std::vector<AttendQuery> queries(const Item& i) const {
    std::vector<AttendQuery> made;
    for (std::int64_t t = i.token; t < i.token + tokens(i); ++t)
      for (int g = 0; g < group_; ++g) {
        const int head = i.kv_head * group_ + g;
        made.push_back(query_of(args_, *i.seg, t, head, heads_, q_,
                                out_.data<float>() + (i.seg->row + t) * out_.cols() + head * args_.kv.layout.value_dim));
      }
    return made;
  }
  void run(const Item& i) const {
    const std::vector<AttendQuery> made = queries(i);
    kernels_.attend(pages_of(args_, *i.seg, i.kv_head), made.data(), static_cast<int>(made.size()));
  }

  // Few items with many pages, a long context decoded: pages become work of their own.
  bool worth_parts(int threads) const {
    return threads > 1 && items() < 4 * threads && group_ * tile_ <= kTileQueries &&
           std::ranges::any_of(items_, [&](const Item& i) { return range(queries(i)).second >= 2 * kPartPages; });
  }
  void run_parts(int threads, FunctionRef<void(std::int64_t)> done) const;

 private:
  static constexpr std::int64_t kPartPages = 4;  // of one part
  struct Split {
    std::vector<AttendQuery> queries;
    std::int64_t first, pages, width;
    std::shared_ptr<Storage> memory;  // of the arena, which keeps it for the next layer: malloc would give it back
    float* rows() const { return reinterpret_cast<float*>(memory->data); }
    std::atomic<std::int64_t> left{0};
  };
  // Pages that any of the queries sees: the first, and how many.
  static std::pair<std::int64_t, std::int64_t> range(std::span<const AttendQuery> queries) {
    std::int64_t first = INT64_MAX, last = 0;
    for (const AttendQuery& q : queries) {
      first = std::min(first, q.first);
      last = std::max(last, q.last);
    }
    return {first / kKvPage, (last + kKvPage - 1) / kKvPage - first / kKvPage};
  }

  const CpuKernels& kernels_;
  const AttentionArgs& args_;
  const Tensor& q_;
  Tensor& out_;
  int heads_, group_;
  std::int64_t tile_;
  std::vector<Item> items_;
};

// done(item) after an item's last part, on the thread that ran it.
void AttentionWork::run_parts(int threads, FunctionRef<void(std::int64_t)> done) const {
  std::vector<Split> splits(items_.size());
  std::vector<std::pair<std::size_t, std::int64_t>> parts;  // item, first page of the part from the item's first
  for (std::size_t n = 0; n < items_.size(); ++n) {
    Split& s = splits[n];
    s.queries = queries(items_[n]);
    std::tie(s.first, s.pages) = range(s.queries);
    s.width = kPartHead + static_cast<std::int64_t>(stride16(args_.kv.layout.value_dim));
    s.memory = allocate_host(static_cast<std::size_t>(s.pages * s.width) * s.queries.size() * sizeof(float));
    for (std::int64_t p = 0; p < s.pages; p += kPartPages) parts.emplace_back(n, p);
    s.left = (s.pages + kPartPages - 1) / kPartPages;
  }
  parallel_for(threads, static_cast<std::int64_t>(parts.size()), 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const auto [n, p] = parts[static_cast<std::size_t>(i)];
      Split& s = splits[n];
      const AttendArgs a = pages_of(args_, *items_[n].seg, items_[n].kv_head);
      const auto count = static_cast<int>(s.queries.size());
      kernels_.attend_pages(a, s.queries.data(), count, s.first + p, s.first + std::min(s.pages, p + kPartPages),
                            s.rows() + p * count * s.width);
      if (s.left.fetch_sub(1, std::memory_order_acq_rel) != 1) continue;
      kernels_.attend_merge(a, s.queries.data(), count, s.pages, s.rows());
      done(static_cast<std::int64_t>(n));
    }
  });
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
    throw Error(ErrorKind::numeric, "K or V at position " + std::to_string(bad) + " does not fit a half-precision cache", "",
                "use --kv f32");
}

void CpuBackend::attend(const AttentionArgs& args, const Tensor& q, int heads, Tensor& out, QAct* quantized) {
  const IeeeMode mode;
  const AttentionWork work(kernels_, args, q, heads, out);
  const std::int64_t width = static_cast<std::int64_t>(work.group()) * args.kv.layout.value_dim;
  // The heads of one item are neighbours in the row: groups of 32 within them are whole.
  const bool in_place = quantized != nullptr && width % 32 == 0;
  const auto finish = [&](std::int64_t n) {
    const AttentionWork::Item& i = work.item(n);
    for (std::int64_t t = i.token; in_place && t < i.token + work.tokens(i); ++t)
      quantize_row(out.data<float>() + (i.seg->row + t) * out.cols() + i.kv_head * width, width, *quantized, i.seg->row + t,
                   i.kv_head * width);
  };
  if (work.worth_parts(threads_)) work.run_parts(threads_, finish);
  else
    parallel_for(threads_, work.items(), 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t n = begin; n < end; ++n) {
        work.run(work.item(n));
        finish(n);
      }
    });
  if (quantized != nullptr && !in_place) quantize(out, *quantized);
}

// One work item a segment and query head; heads that share K and V are added in ascending order.
void CpuBackend::attention_grad(const AttentionArgs& args, const Tensor& q, int heads, const Tensor& out, const Tensor& dout,
                                const AttentionGrads& grads) {
  const IeeeMode mode;
  const KvLayout& l = args.kv.layout;
  const int group = heads / l.heads;
  std::vector<float> sinks(grads.dsinks != nullptr ? static_cast<std::size_t>(heads) : 0);
  for (Tensor* t : {grads.dq, grads.dk, grads.dv, grads.dsinks})
    if (t != nullptr) std::memset(t->raw(), 0, t->nbytes());
  for (const KvSegment& seg : args.kv.segments) {
    if (seg.count == 0) continue;
    const auto rows = static_cast<std::size_t>(seg.count);
    Tensor dq = Tensor::empty({heads, seg.count, l.head_dim}), dk = Tensor::zeros({heads, seg.count, l.head_dim}),
           dv = Tensor::zeros({heads, seg.count, l.value_dim});
    parallel_for(threads_, heads, 1, [&](std::int64_t begin, std::int64_t end) {
      std::vector<AttendQuery> queries(rows);
      std::vector<const float*> o(rows), d(rows);
      const auto scratch = allocate_host(kernels_.attend_grad_bytes);
      for (std::int64_t h = begin; h < end; ++h) {
        for (std::int64_t t = 0; t < seg.count; ++t) {
          const std::int64_t row = seg.row + t;
          const auto at = static_cast<std::size_t>(t);
          queries[at] = query_of(args, seg, t, static_cast<int>(h), heads, q, nullptr);
          o[at] = out.data<float>() + row * out.cols() + h * l.value_dim;
          d[at] = dout.data<float>() + row * dout.cols() + h * l.value_dim;
        }
        const AttendArgs a = pages_of(args, seg, static_cast<int>(h) / group);
        float sink = 0;
        kernels_.attend_grad(a, {queries.data(), o.data(), d.data(), seg.count, seg.position, dq.data<float>() + h * seg.count * l.head_dim,
                                 dk.data<float>() + h * seg.count * l.head_dim, dv.data<float>() + h * seg.count * l.value_dim,
                                 grads.dsinks && args.sinks ? &sink : nullptr, scratch->data});
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
