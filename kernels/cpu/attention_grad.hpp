// SPDX-License-Identifier: Apache-2.0
// Attention on the way back, one query head of a segment: pages of 64 keys against tiles of 64 queries. Scores are made
// again from the pages; every product is the one of grad_tile.hpp. Pages ascending, queries ascending.
//   p = e^(s - m) / l, dp = do . v, ds = p (dp - do . o), through softcap and scale:
//   dq += ds k, dk += ds q, dv += p do, dsink -= p_sink (do . o).
#pragma once

namespace hz::cpu {
inline namespace HZ_UNIT {

// A page of one kv head as floats, both ways round; slots outside [begin, end) are zero.
struct FloatPage {
  alignas(64) float k_t[kMaxDim * kPage];   // [head_dim][64]
  alignas(64) float v_t[kMaxDim * kPage];   // [value_dim][64]
  alignas(64) float k[kPage * kMaxDim];     // [64][head_dim]
};

HZ_FN float page_value(KvKind kind, const std::byte* k, int head_dim, int d, int slot) {
  if (kind == KvKind::f32) return ((const float*)k)[kPage * d + slot];
  if (kind == KvKind::f16) return quant::half_value(((const uint16_t*)k)[kPage * d + slot]);
  const auto* codes = (const uint8_t*)k;
  const auto* scales = (const uint16_t*)(codes + (size_t)head_dim * kPage);
  const int code = codes[((size_t)(d / 32) * 8 + (size_t)(d % 32) / 4) * kPage * 4 + (size_t)slot * 4 + (size_t)d % 4];
  return (float)(code - 128) * quant::half_value(scales[d / 32 * kPage + slot]);
}

static void read_page(const AttendArgs& a, const std::byte* base, int begin, int end, FloatPage& page) {
  const std::byte *k = base + a.k_offset, *v = base + a.v_offset;
  for (int d = 0; d < a.head_dim; ++d) {
    float* row = page.k_t + d * kPage;
    if (a.kind == KvKind::f16)
      for (int i = 0; i < kPage; i += kLanes) store(row + i, load_half((const uint16_t*)k + kPage * d + i));
    else
      for (int i = 0; i < kPage; ++i) row[i] = page_value(a.kind, k, a.head_dim, d, i);
    for (int i = 0; i < begin; ++i) row[i] = 0.0f;
    for (int i = end; i < kPage; ++i) row[i] = 0.0f;
  }
  transpose(page.k_t, kPage, a.head_dim, kPage, page.k, a.head_dim);
  const int64_t stride = stride16(a.value_dim);
  const auto* codes = (const int8_t*)v;
  const auto* scales = (const uint16_t*)(codes + stride * kPage);
  alignas(64) float row[kMaxDim];
  for (int d = 0; d < a.value_dim; ++d)
    for (int i = 0; i < kPage; ++i) page.v_t[d * kPage + i] = 0.0f;
  for (int i = begin; i < end; ++i) {
    for (int64_t d = 0; d < stride; d += kLanes) {
      if (a.kind == KvKind::f16) store(row + d, load_half((const uint16_t*)v + stride * i + d));
      else if (a.kind == KvKind::f32) store(row + d, load((const float*)v + stride * i + d));
      else store(row + d, mul(to_float(load_i8(codes + stride * i + d)), set1(quant::half_value(scales[i * (a.value_dim / 32) + d / 32]))));
    }
    for (int d = 0; d < a.value_dim; ++d) page.v_t[d * kPage + i] = row[d];
  }
}

// Up to 64 queries of the segment: their rows dense and turned, what they attended to.
struct QueryTile {
  alignas(64) float q[kPage * kMaxDim], q_t[kMaxDim * kPage];
  alignas(64) float dout[kPage * kMaxDim], dout_t[kMaxDim * kPage];
  float delta[kPage];
};

static void read_queries(const AttendArgs& a, const AttendGradArgs& g, int64_t t0, int n, QueryTile& tile) {
  for (int i = 0; i < n; ++i) {
    float* q = tile.q + i * a.head_dim;
    memcpy(q, g.queries[t0 + i].q, (size_t)a.head_dim * 4);
    if (a.kind == KvKind::q8_0) {  // the scores were made from the query's codes
      QuantizedQuery codes;
      quantize(g.queries[t0 + i].q, a.head_dim, codes.codes, codes.scales, codes.sums);
      for (int d = 0; d < a.head_dim; ++d) q[d] = (float)codes.codes[d] * codes.scales[d / 32];
    }
    memcpy(tile.dout + i * a.value_dim, g.dout[t0 + i], (size_t)a.value_dim * 4);
    tile.delta[i] = dot_rows(g.dout[t0 + i], g.out[t0 + i], a.value_dim);
  }
  transpose(tile.q, a.head_dim, n, a.head_dim, tile.q_t, kPage);
  transpose(tile.dout, a.value_dim, n, a.value_dim, tile.dout_t, kPage);
}

HZ_FN float exp1(float x) {
  float r[kLanes];
  store(r, exp(set1(x)));
  return r[0];
}

// From raw dots s and dp of one query with 64 keys: p into s, the gradient of the dots into dp. Outside [begin, end): 0.
HZ_FN void soften_grad(const AttendArgs& a, const AttendQuery& q, int64_t base, int begin, int end, float delta, float* s, float* dp) {
  const V m = set1(q.stats[0]), inv = set1(1.0f / q.stats[1]), d = set1(delta), scale = set1(a.scale);
  for (int i = 0; i < kPage; i += kLanes) {
    V x = mul(load(s + i), scale), slope = scale;
    if (a.softcap > 0) {
      const V t = tanh(mul(x, set1(1.0f / a.softcap)));
      x = mul(set1(a.softcap), t);
      slope = mul(scale, fma(neg(t), t, set1(1.0f)));
    }
    if (q.slope != 0) {
      alignas(64) float bias[kLanes];
      for (int j = 0; j < kLanes; ++j) bias[j] = (float)(base + i + j - q.position);
      x = fma(set1(q.slope), load(bias), x);
    }
    const V p = mul(exp(sub(x, m)), inv);
    store(dp + i, mul(mul(p, sub(load(dp + i), d)), slope));
    store(s + i, p);
  }
  for (int i = 0; i < kPage; ++i)
    if (i < begin || i >= end) s[i] = dp[i] = 0.0f;
}

struct GradScratch {
  FloatPage page;
  QueryTile tile;
  alignas(64) float s[kPage * kPage], dp[kPage * kPage], ds_t[kPage * kPage], dk[kPage * kMaxDim], dv[kPage * kMaxDim];
};

static void attend_grad(const AttendArgs& a, const AttendGradArgs& g) {
  auto& w = *(GradScratch*)g.scratch;
  const int hd = a.head_dim, vd = a.value_dim;
  memset(g.dq, 0, (size_t)g.count * (size_t)hd * 4);
  int64_t first = g.queries[0].first, last = 0;
  for (int64_t t = 0; t < g.count; ++t) {
    first = g.queries[t].first < first ? g.queries[t].first : first;
    last = g.queries[t].last > last ? g.queries[t].last : last;
  }
  for (int64_t page = first / kPage; page * kPage < last; ++page) {
    const int64_t base = page * kPage;
    read_page(a, a.pages[page], (int)(first > base ? first - base : 0), (int)(last - base < kPage ? last - base : kPage), w.page);
    memset(w.dk, 0, (size_t)kPage * (size_t)hd * 4);
    memset(w.dv, 0, (size_t)kPage * (size_t)vd * 4);
    for (int64_t t0 = 0; t0 < g.count; t0 += kPage) {
      const int n = (int)(g.count - t0 < kPage ? g.count - t0 : kPage);
      bool any = false;
      for (int i = 0; i < n; ++i) any |= g.queries[t0 + i].first < base + kPage && g.queries[t0 + i].last > base;
      if (!any) continue;
      read_queries(a, g, t0, n, w.tile);
      grad_tile(w.tile.q_t, kPage, w.page.k_t, kPage, hd, n, kPage, w.s, kPage, false);
      grad_tile(w.tile.dout_t, kPage, w.page.v_t, kPage, vd, n, kPage, w.dp, kPage, false);
      for (int i = 0; i < n; ++i) {
        const AttendQuery& q = g.queries[t0 + i];
        const int64_t begin = q.first - base, end = q.last - base;
        soften_grad(a, q, base, (int)(begin > 0 ? (begin < kPage ? begin : kPage) : 0), (int)(end < kPage ? (end > 0 ? end : 0) : kPage),
                    w.tile.delta[i], w.s + i * kPage, w.dp + i * kPage);
      }
      transpose(w.dp, kPage, n, kPage, w.ds_t, kPage);
      grad_tile(w.ds_t, kPage, w.page.k, hd, kPage, n, hd, g.dq + t0 * hd, hd, true);
      grad_tile(w.dp, kPage, w.tile.q, hd, n, kPage, hd, w.dk, hd, true);
      grad_tile(w.s, kPage, w.tile.dout, vd, n, kPage, vd, w.dv, vd, true);
    }
    for (int i = 0; i < kPage; ++i) {  // keys before the segment are constants
      const int64_t t = base + i - g.position;
      if (t < 0 || t >= g.count) continue;
      memcpy(g.dk + t * hd, w.dk + i * hd, (size_t)hd * 4);
      memcpy(g.dv + t * vd, w.dv + i * vd, (size_t)vd * 4);
    }
  }
  if (g.dsink != nullptr) {
    float sum = 0.0f;
    for (int64_t t = 0; t < g.count; ++t) {
      const AttendQuery& q = g.queries[t];
      const float p = exp1(*q.sink - q.stats[0]) / q.stats[1];
      sum -= p * dot_rows(g.dout[t], g.out[t], vd);
    }
    *g.dsink = sum;
  }
}

}  // namespace HZ_UNIT
}  // namespace hz::cpu
