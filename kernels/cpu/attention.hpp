// SPDX-License-Identifier: Apache-2.0
// Attention of a tile of queries over the pages of attention_pages.hpp. Each page gives (m, l, o); pages are merged in
// ascending order (docs/numerics.md, Attention). A page is read once for the whole tile, in groups of a few queries.
#pragma once

namespace hz::cpu {
inline namespace HZ_UNIT {

constexpr int kGroup = kLanes == 16 ? 6 : 3;   // queries whose sums fit the registers

// Running result of one query.
struct Online {
  float m, l;
  bool any;
};

// Slots [begin, end) of the page at `base` that a query sees.
struct Visible {
  int begin, end;
  HZ_FN Visible of(const AttendQuery& q, int64_t base) {
    const int64_t begin = q.first > base ? q.first - base : 0, end = q.last - base;
    return {(int)(begin < kPage ? begin : kPage), (int)(end < 0 ? 0 : end < kPage ? end : kPage)};
  }
  bool any() const { return begin < end; }
};

// Scale, softcap, ALiBi and mask of the scores of one query.
HZ_FN void shape_scores(const AttendArgs& a, const AttendQuery& q, int64_t base, const Visible& sees, float* s) {
  for (int i = 0; i < kPage; i += kLanes) {
    V x = mul(load(s + i), set1(a.scale));
    if (a.softcap > 0) x = mul(set1(a.softcap), tanh(mul(x, set1(1.0f / a.softcap))));
    store(s + i, x);
  }
  if (q.slope != 0)
    for (int i = sees.begin; i < sees.end; ++i) s[i] = __builtin_fmaf(q.slope, (float)(base + i - q.position), s[i]);
  for (int i = 0; i < sees.begin; ++i) s[i] = -__builtin_inff();
  for (int i = sees.end; i < kPage; ++i) s[i] = -__builtin_inff();
}

// p = e^(s - max) of R queries, the page's maxima and sums; one step of all before the next, so that none waits for another. What a
// query gets that sees nothing is not used.
template <int R>
HZ_FN void soften(const AttendArgs& a, const AttendQuery* q, int64_t base, const Visible* sees, float (*s)[kPage], float* m, float* l) {
  for (int r = 0; r < R; ++r) shape_scores(a, q[r], base, sees[r], s[r]);
  for (int r = 0; r < R; ++r) m[r] = row_max(s[r], kPage);
  for (int r = 0; r < R; ++r)
    for (int i = 0; i < kPage; i += kLanes) store(s[r] + i, exp(sub(load(s[r] + i), set1(m[r]))));
  for (int r = 0; r < R; ++r) l[r] = lane_sum(s[r], kPage, [](V v, V acc) { return add(acc, v); });
}

// Adds the page's (m, l, o) of R queries to the running results `run` and `out` [R][n], for those that see any of it. One of the two
// factors of a query is e^0, exactly 1; the others are computed together.
template <int R>
HZ_FN void merge(Online* run, const bool* seen, const float* m, const float* l, const float* const* oc, int64_t n, float* out) {
  constexpr int kVecs = (R + kLanes - 1) / kLanes;
  float e[kVecs * kLanes] = {};
  bool higher[R];
  for (int r = 0; r < R; ++r) {
    higher[r] = !run[r].any || m[r] > run[r].m;
    const float less = !run[r].any ? m[r] : higher[r] ? run[r].m : m[r], more = higher[r] ? m[r] : run[r].m;
    e[r] = less - more;
  }
  for (int i = 0; i < kVecs * kLanes; i += kLanes) store(e + i, exp(load(e + i)));
  for (int r = 0; r < R; ++r) {
    if (!seen[r]) continue;
    const bool first = !run[r].any;
    const float a = first ? 0.0f : higher[r] ? e[r] : 1.0f, b = first ? e[r] : higher[r] ? 1.0f : e[r];
    run[r].l = __builtin_fmaf(run[r].l, a, l[r] * b);
    run[r].m = higher[r] ? m[r] : run[r].m;
    run[r].any = true;
    const V va = set1(a), vb = set1(b);
    float* o = out + r * n;
    for (int64_t d = 0; d < n; d += kLanes) store(o + d, fma(load(o + d), va, mul(load(oc[r] + d), vb)));
  }
}
HZ_FN void merge_one(Online& run, float m, float l, const float* oc, int64_t n, float* o) {
  const bool seen = true;
  merge<1>(&run, &seen, &m, &l, &oc, n, o);
}

HZ_FN void put_stats(const AttendQuery& q, const Online& run) {
  if (q.stats == nullptr) return;
  q.stats[0] = run.m;
  q.stats[1] = run.l;
}

// R queries and one page; each.operator()<R>(seen, m, l, o) takes the results, where any of them sees any of the page.
template <class Cache, int R, class F>
HZ_FN void attend_page(const AttendArgs& a, int64_t page, const AttendQuery* q, const typename Cache::Query* query,
                       const typename Cache::Page& view, const std::byte* next, F&& each) {
  const int64_t base = page * kPage;
  Visible sees[R];
  int most = 0, common_begin = 0, common_end = kPage;
  for (int r = 0; r < R; ++r) {
    sees[r] = Visible::of(q[r], base);
    most = sees[r].end - sees[r].begin > most ? sees[r].end - sees[r].begin : most;
    common_begin = sees[r].begin > common_begin ? sees[r].begin : common_begin;
    common_end = sees[r].end < common_end ? sees[r].end : common_end;
  }
  if (most <= 0) return;
  alignas(64) float s[R][kPage];
  alignas(64) float page_out[R][kMaxDim];
  float* oc[R];
  float m[R], l[R];
  bool seen[R];
  const std::byte* v = a.pages[page] + a.v_offset;
  Cache::template scores<R>(a, a.pages[page] + a.k_offset, query, s, v);
  soften<R>(a, q, base, sees, s, m, l);
  bool shared = R > 1 && common_begin < common_end;
  for (int r = 0; r < R; ++r) {
    oc[r] = page_out[r];
    seen[r] = sees[r].any();
    shared = shared && sees[r].begin == common_begin;
  }
  if (shared) Cache::template values<R>(a, view, v, s, common_begin, common_end, oc, false, next);
  for (int r = 0; r < R; ++r) {
    if (!shared && seen[r]) Cache::template values<1>(a, view, v, s + r, sees[r].begin, sees[r].end, oc + r, false, next);
    else if (seen[r] && sees[r].end > common_end)
      Cache::template values<1>(a, view, v, s + r, common_end, sees[r].end, oc + r, true, next);
  }
  each.template operator()<R>(seen, m, l, oc);
}

// The result of one query: its sink as a last page, then o / l.
HZ_FN void finish_query(const AttendArgs& a, const AttendQuery& q, Online& run, float* out) {
  const int64_t stride = stride16(a.value_dim);
  if (q.sink != nullptr) {
    alignas(64) float none[kMaxDim];
    memset(none, 0, (size_t)stride * 4);
    merge_one(run, *q.sink, 1.0f, none, stride, out);
  }
  put_stats(q, run);
  const V l = set1(run.l);
  map_row(a.value_dim, q.out, [&](int64_t i, int m) { return div(take(out, i, m), l); });
}

// Pages [first, last) for up to kTileQueries queries, ascending; each.operator()<R>(page, query, seen, m, l, o) takes the results of R
// queries from `query` on.
template <class Cache, class F>
HZ_FN void attend_range(const AttendArgs& a, const AttendQuery* q, int count, int64_t first, int64_t last, F&& each) {
  typename Cache::Query query[kTileQueries];
  typename Cache::Page view;
  for (int r = 0; r < count; ++r) query[r] = Cache::Query::make(a, q[r]);
  for (int64_t page = first; page < last; ++page) {
    Cache::Page::read(a, a.pages[page] + a.v_offset, view);
    int i = 0;
    const std::byte* next = a.pages[page + 1 < last ? page + 1 : page] + a.k_offset;  // of the last page itself, which is there
    const auto group = [&]<int R>() {
      for (; i + R <= count; i += R)
        attend_page<Cache, R>(a, page, q + i, query + i, view, next,
                              [&]<int N>(const bool* seen, const float* m, const float* l, const float* const* o) {
                                each.template operator()<N>(page, i, seen, m, l, o);
                              });
    };
    group.template operator()<kGroup>();
    if constexpr (kGroup > 3) group.template operator()<3>();
    group.template operator()<2>();
    group.template operator()<1>();
  }
}

// Up to kTileQueries queries of one kv head over all their pages.
template <class Cache>
HZ_FN void attend_tile(const AttendArgs& a, const AttendQuery* q, int count) {
  const int64_t stride = stride16(a.value_dim);
  alignas(64) float out[kTileQueries * kMaxDim];
  memset(out, 0, (size_t)(count * stride) * 4);
  Online run[kTileQueries];
  int64_t first = q[0].first, last = q[0].last;
  for (int r = 0; r < count; ++r) {
    run[r] = {0.0f, 0.0f, false};
    first = q[r].first < first ? q[r].first : first;
    last = q[r].last > last ? q[r].last : last;
  }
  attend_range<Cache>(a, q, count, first / kPage, (last + kPage - 1) / kPage,
                      [&]<int R>(int64_t, int i, const bool* seen, const float* m, const float* l, const float* const* o) {
                        merge<R>(run + i, seen, m, l, o, stride, out + i * stride);
                      });
  for (int r = 0; r < count; ++r) finish_query(a, q[r], run[r], out + r * stride);
}

template <class Cache>
HZ_FN void attend_tiles(const AttendArgs& a, const AttendQuery* q, int count) {
  for (int i = 0; i < count; i += kTileQueries) attend_tile<Cache>(a, q + i, count - i < kTileQueries ? count - i : kTileQueries);
}

static void attend(const AttendArgs& a, const AttendQuery* q, int count) {
  switch (a.kind) {
    case KvKind::f16: return attend_tiles<F16Cache>(a, q, count);
    case KvKind::f32: return attend_tiles<F32Cache>(a, q, count);
    case KvKind::q8_0: return attend_tiles<Q8Cache>(a, q, count);
  }
}

// The same in parts, for a few queries with many pages: rows [page - first][query] of kPartHead + stride16(value_dim)
// floats: m, l, whether the query sees any of the page; o from kPartHead on.
template <class Cache>
HZ_FN void attend_part(const AttendArgs& a, const AttendQuery* q, int count, int64_t first, int64_t last, float* rows) {
  const int64_t stride = stride16(a.value_dim), width = kPartHead + stride;
  for (int64_t i = 0; i < (last - first) * count; ++i) rows[i * width + 2] = 0.0f;
  attend_range<Cache>(a, q, count, first, last,
                      [&]<int R>(int64_t page, int i, const bool* seen, const float* m, const float* l, const float* const* o) {
                        for (int r = 0; r < R; ++r) {
                          if (!seen[r]) continue;
                          float* row = rows + ((page - first) * count + i + r) * width;
                          row[0] = m[r];
                          row[1] = l[r];
                          row[2] = 1.0f;
                          memcpy(row + kPartHead, o[r], (size_t)stride * 4);
                        }
                      });
}
static void attend_pages(const AttendArgs& a, const AttendQuery* q, int count, int64_t first, int64_t last, float* rows) {
  switch (a.kind) {
    case KvKind::f16: return attend_part<F16Cache>(a, q, count, first, last, rows);
    case KvKind::f32: return attend_part<F32Cache>(a, q, count, first, last, rows);
    case KvKind::q8_0: return attend_part<Q8Cache>(a, q, count, first, last, rows);
  }
}
// Merges the rows of `pages` pages, ascending, and finishes the queries.
static void attend_merge(const AttendArgs& a, const AttendQuery* q, int count, int64_t pages, const float* rows) {
  const int64_t stride = stride16(a.value_dim), width = kPartHead + stride;
  alignas(64) float out[kMaxDim];
  for (int r = 0; r < count; ++r) {
    Online run{0.0f, 0.0f, false};
    memset(out, 0, (size_t)stride * 4);
    for (int64_t page = 0; page < pages; ++page) {
      const float* row = rows + (page * count + r) * width;
      if (row[2] != 0) merge_one(run, row[0], row[1], row + kPartHead, stride, out);
    }
    finish_query(a, q[r], run, out);
  }
}

}  // namespace HZ_UNIT
}  // namespace hz::cpu
