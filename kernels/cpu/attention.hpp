// SPDX-License-Identifier: Apache-2.0
// Attention over pages of 64 positions: K transposed (lanes = keys), V by rows (lanes = value dims).
// Page of one kv head, F16 or F32: K [head_dim][64], V [64][stride16(value_dim)].
// Q8_0: K codes [head_dim / 32][8][64][4] as code + 128, K scales half [head_dim / 32][64];
//       V codes int8 [64][stride16(value_dim)], V scales half [64][value_dim / 32].
// Each page gives (m, l, o); pages are merged in ascending order (docs/numerics.md, Attention).
#pragma once

namespace hz::cpu {
inline namespace HZ_UNIT {

constexpr int kPage = 64;
constexpr int kMaxDim = 1024;  // largest head or value dimension
constexpr int kKeyVecs = kPage / kLanes;

HZ_FN int64_t stride16(int64_t n) { return (n + 15) / 16 * 16; }

// Element access by cache kind.
struct F16Cache {
  using T = uint16_t;
  HZ_FN V get(const T* p) { return load_half(p); }
};
struct F32Cache {
  using T = float;
  HZ_FN V get(const T* p) { return load(p); }
};

// Raw dots of R queries with the 64 keys of a page, one fma per dimension ascending.
template <class Cache, int R>
HZ_FN void float_scores(const std::byte* page_k, int head_dim, const AttendQuery* q, float (*s)[kPage]) {
  const auto* k = (const typename Cache::T*)page_k;
  constexpr int KB = kKeyVecs < 4 ? kKeyVecs : 4;
  for (int v0 = 0; v0 < kKeyVecs; v0 += KB) {
    V acc[R][KB];
    for (int r = 0; r < R; ++r)
      for (int j = 0; j < KB; ++j) acc[r][j] = set1(0.0f);
    for (int d = 0; d < head_dim; ++d) {
      V key[KB];
      for (int j = 0; j < KB; ++j) key[j] = Cache::get(k + kPage * d + (v0 + j) * kLanes);
      for (int r = 0; r < R; ++r) {
        const V b = set1(q[r].q[d]);
        for (int j = 0; j < KB; ++j) acc[r][j] = fma(b, key[j], acc[r][j]);
      }
    }
    for (int r = 0; r < R; ++r)
      for (int j = 0; j < KB; ++j) store(s[r] + (v0 + j) * kLanes, acc[r][j]);
  }
}

// The query as int8 groups of 32, made once per query.
struct QuantizedQuery {
  int8_t codes[kMaxDim];
  float scales[kMaxDim / 32];
  int32_t sums[kMaxDim / 16];
};

HZ_FN void q8_scores(const std::byte* page_k, int head_dim, const QuantizedQuery& q, float* s) {
  const auto* codes = (const uint8_t*)page_k;
  const auto* scales = (const uint16_t*)(codes + (size_t)head_dim * kPage);
  for (int v = 0; v < kKeyVecs; ++v) {
    V acc = set1(0.0f);
    for (int b = 0; b < head_dim / 32; ++b) {
      const int32_t start = -128 * (q.sums[2 * b] + q.sums[2 * b + 1]);
      auto dot = Dot<255>::start(start);
      const uint8_t* w = codes + (size_t)b * 32 * kPage + v * kLanes * 4;
      const int8_t* x = q.codes + 32 * b;
#define HZ_STEP(i) dot.template step<i>(load_codes(w + (i) * kPage * 4), x + 4 * (i));
      HZ_STEP(0) HZ_STEP(1) HZ_STEP(2) HZ_STEP(3) HZ_STEP(4) HZ_STEP(5) HZ_STEP(6) HZ_STEP(7)
#undef HZ_STEP
      acc = fma(to_float(dot.finish(start)), mul(load_half(scales + b * kPage + v * kLanes), set1(q.scales[b])), acc);
    }
    store(s + v * kLanes, acc);
  }
}

// Values weighted by p over [begin, end), lanes = dims; o is overwritten (accumulated when `add`).
template <class Cache, int R>
HZ_FN void float_values(const std::byte* page_v, int64_t stride, const float (*p)[kPage], int begin, int end, float* const* o, bool carry) {
  const auto* v = (const typename Cache::T*)page_v;
  constexpr int DB = 16 / kLanes < 2 ? 2 : (16 / kLanes > 4 ? 4 : 16 / kLanes);  // divides stride / kLanes up to the tail
  int64_t d = 0;
  auto run = [&]<int B>() {
    V acc[R][B];
    for (int r = 0; r < R; ++r)
      for (int j = 0; j < B; ++j) acc[r][j] = carry ? load(o[r] + d + j * kLanes) : set1(0.0f);
    for (int i = begin; i < end; ++i) {
      V val[B];
      for (int j = 0; j < B; ++j) val[j] = Cache::get(v + stride * i + d + j * kLanes);
      for (int r = 0; r < R; ++r) {
        const V w = set1(p[r][i]);
        for (int j = 0; j < B; ++j) acc[r][j] = fma(w, val[j], acc[r][j]);
      }
    }
    for (int r = 0; r < R; ++r)
      for (int j = 0; j < B; ++j) store(o[r] + d + j * kLanes, acc[r][j]);
    d += B * kLanes;
  };
  while (d + DB * kLanes <= stride) run.template operator()<DB>();
  while (d < stride) run.template operator()<1>();
}

HZ_FN void q8_values(const std::byte* page_v, int value_dim, const float* p, int begin, int end, float* o) {
  const int64_t stride = stride16(value_dim);
  const auto* codes = (const int8_t*)page_v;
  const auto* scales = (const uint16_t*)(codes + stride * kPage);
  for (int64_t d = 0; d < stride; d += kLanes) {
    V acc = set1(0.0f);
    for (int i = begin; i < end; ++i) {
      const float w = p[i] * quant::half_value(scales[i * (value_dim / 32) + d / 32]);
      acc = fma(set1(w), to_float(load_i8(codes + stride * i + d)), acc);
    }
    store(o + d, acc);
  }
}

// Running result of one query.
struct Online {
  float m, l;
  bool any;
};

HZ_FN float exp1(float x) {
  float r[kLanes];
  store(r, exp(set1(x)));
  return r[0];
}

// Scale, softcap, ALiBi and mask; then p = e^(s - max). Returns the page's max and sum.
HZ_FN void soften(const AttendArgs& a, const AttendQuery& q, int64_t base, int begin, int end, float* s, float* m_out, float* l_out) {
  for (int i = 0; i < kPage; i += kLanes) {
    V x = mul(load(s + i), set1(a.scale));
    if (a.softcap > 0) x = mul(set1(a.softcap), tanh(mul(x, set1(1.0f / a.softcap))));
    store(s + i, x);
  }
  if (q.slope != 0)
    for (int i = begin; i < end; ++i) s[i] = __builtin_fmaf(q.slope, (float)(base + i - q.position), s[i]);
  for (int i = 0; i < begin; ++i) s[i] = -__builtin_inff();
  for (int i = end; i < kPage; ++i) s[i] = -__builtin_inff();
  const float m = row_max(s, kPage);
  *m_out = m;
  *l_out = exp_sum(s, m, kPage, s);
}

HZ_FN void merge(Online& run, float m, float l, const float* oc, int64_t n, float* o) {
  const float top = !run.any || m > run.m ? m : run.m;
  const float a = run.any ? exp1(run.m - top) : 0.0f, b = exp1(m - top);
  run.l = __builtin_fmaf(run.l, a, l * b);
  run.m = top;
  run.any = true;
  const V va = set1(a), vb = set1(b);
  for (int64_t d = 0; d < n; d += kLanes) store(o + d, fma(load(o + d), va, mul(load(oc + d), vb)));
}

HZ_FN void put_stats(const AttendQuery& q, const Online& run) {
  if (q.stats == nullptr) return;
  q.stats[0] = run.m;
  q.stats[1] = run.l;
}

// R queries of one kv head over all their pages.
template <class Cache, int R>
HZ_FN void attend_group(const AttendArgs& a, const AttendQuery* q) {
  const int64_t stride = stride16(a.value_dim);
  alignas(64) float s[R][kPage];
  alignas(64) float page_out[R][kMaxDim], out[R][kMaxDim];
  float* oc[R];
  Online run[R];
  int64_t first = q[0].first, last = q[0].last;
  for (int r = 0; r < R; ++r) {
    run[r] = {0.0f, 0.0f, false};
    oc[r] = page_out[r];
    memset(out[r], 0, (size_t)stride * 4);
    first = q[r].first < first ? q[r].first : first;
    last = q[r].last > last ? q[r].last : last;
  }
  for (int64_t page = first / kPage; page * kPage < last; ++page) {
    const int64_t base = page * kPage;
    float_scores<Cache, R>(a.pages[page] + a.k_offset, a.head_dim, q, s);
    int begin[R], end[R], common_begin = 0, common_end = kPage;
    float m[R], l[R];
    for (int r = 0; r < R; ++r) {
      begin[r] = (int)(q[r].first > base ? (q[r].first - base < kPage ? q[r].first - base : kPage) : 0);
      end[r] = (int)(q[r].last - base < kPage ? (q[r].last > base ? q[r].last - base : 0) : kPage);
      if (begin[r] >= end[r]) {
        common_end = 0;
        continue;
      }
      common_begin = begin[r] > common_begin ? begin[r] : common_begin;
      common_end = end[r] < common_end ? end[r] : common_end;
      soften(a, q[r], base, begin[r], end[r], s[r], &m[r], &l[r]);
    }
    const std::byte* v = a.pages[page] + a.v_offset;
    const bool shared = R > 1 && common_begin < common_end && [&] {
      for (int r = 0; r < R; ++r)
        if (begin[r] != common_begin) return false;
      return true;
    }();
    if (shared) float_values<Cache, R>(v, stride, s, common_begin, common_end, oc, false);
    for (int r = 0; r < R; ++r) {
      if (begin[r] >= end[r]) continue;
      if (!shared) float_values<Cache, 1>(v, stride, s + r, begin[r], end[r], oc + r, false);
      else if (end[r] > common_end) float_values<Cache, 1>(v, stride, s + r, common_end, end[r], oc + r, true);
      merge(run[r], m[r], l[r], oc[r], stride, out[r]);
    }
  }
  for (int r = 0; r < R; ++r) {
    if (a.sink != nullptr) {
      memset(oc[r], 0, (size_t)stride * 4);
      merge(run[r], *a.sink, 1.0f, oc[r], stride, out[r]);
    }
    put_stats(q[r], run[r]);
    const V l = set1(run[r].l);
    map_row(a.value_dim, q[r].out, [&](int64_t i, int m) { return div(take(out[r], i, m), l); });
  }
}

HZ_FN void attend_q8(const AttendArgs& a, const AttendQuery& q) {
  const int64_t stride = stride16(a.value_dim);
  QuantizedQuery quantized;
  quantize(q.q, a.head_dim, quantized.codes, quantized.scales, quantized.sums);
  alignas(64) float s[kPage], oc[kMaxDim], out[kMaxDim];
  memset(out, 0, (size_t)stride * 4);
  Online run{0.0f, 0.0f, false};
  for (int64_t page = q.first / kPage; page * kPage < q.last; ++page) {
    const int64_t base = page * kPage;
    const int begin = (int)(q.first > base ? q.first - base : 0), end = (int)(q.last - base < kPage ? q.last - base : kPage);
    float m, l;
    q8_scores(a.pages[page] + a.k_offset, a.head_dim, quantized, s);
    soften(a, q, base, begin, end, s, &m, &l);
    q8_values(a.pages[page] + a.v_offset, a.value_dim, s, begin, end, oc);
    merge(run, m, l, oc, stride, out);
  }
  if (a.sink != nullptr) {
    memset(oc, 0, (size_t)stride * 4);
    merge(run, *a.sink, 1.0f, oc, stride, out);
  }
  put_stats(q, run);
  const V l = set1(run.l);
  map_row(a.value_dim, q.out, [&](int64_t i, int m) { return div(take(out, i, m), l); });
}

template <class Cache>
HZ_FN void attend_float(const AttendArgs& args, const AttendQuery* q, int count) {
  constexpr int kMost = kLanes == 16 ? 6 : 3;
  int i = 0;
  if constexpr (kMost == 6)
    for (; i + 6 <= count; i += 6) attend_group<Cache, 6>(args, q + i);
  for (; i + 3 <= count; i += 3) attend_group<Cache, 3>(args, q + i);
  for (; i + 2 <= count; i += 2) attend_group<Cache, 2>(args, q + i);
  for (; i < count; ++i) attend_group<Cache, 1>(args, q + i);
}

static void attend(const AttendArgs& args, const AttendQuery* q, int count) {
  switch (args.kind) {
    case KvKind::f16: return attend_float<F16Cache>(args, q, count);
    case KvKind::f32: return attend_float<F32Cache>(args, q, count);
    case KvKind::q8_0:
      for (int i = 0; i < count; ++i) attend_q8(args, q[i]);
  }
}

// One row of K or V as Q8_0 blocks: d = amax / 127 as a half, codes by the format's encoder (round half away).
HZ_FN bool q8_block(const float* x, uint16_t* d_out, int8_t* codes) {
  float amax = 0.0f;
  bool ok = true;
  for (int i = 0; i < 32; ++i) {
    const float a = __builtin_fabsf(x[i]);
    ok &= !(a > 65504.0f * 127.0f) || !(a <= 3.4028235e38f);  // overflow, not poison
    amax = a > amax || a != a ? a : amax;
  }
  const float d = amax / 127.0f, id = d != 0.0f ? 1.0f / d : 0.0f;
  for (int i = 0; i < 32; ++i) codes[i] = ok && amax <= 65504.0f * 127.0f ? (int8_t)__builtin_roundf(x[i] * id) : 0;
  uint16_t lanes[kLanes];
  store_half(lanes, set1(d));
  *d_out = lanes[0];
  return ok;
}

static bool kv_write(KvKind kind, const float* k, const float* v, int head_dim, int value_dim, int slot, std::byte* page_k, std::byte* page_v) {
  const int64_t stride = stride16(value_dim);
  bool ok = true;
  if (kind == KvKind::f32) {
    for (int d = 0; d < head_dim; ++d) ((float*)page_k)[kPage * d + slot] = k[d];
    for (int64_t d = 0; d < stride; ++d) ((float*)page_v)[stride * slot + d] = d < value_dim ? v[d] : 0.0f;
  } else if (kind == KvKind::f16) {
    auto half = [&](float x) {
      uint16_t h[kLanes];
      store_half(h, set1(x));
      ok &= (h[0] & 0x7c00u) != 0x7c00u || !(__builtin_fabsf(x) <= 3.4028235e38f);  // overflow, not poison
      return h[0];
    };
    for (int d = 0; d < head_dim; ++d) ((uint16_t*)page_k)[kPage * d + slot] = half(k[d]);
    for (int64_t d = 0; d < stride; ++d) ((uint16_t*)page_v)[stride * slot + d] = d < value_dim ? half(v[d]) : (uint16_t)0;
  } else {
    auto* kc = (uint8_t*)page_k;
    auto* ks = (uint16_t*)(kc + (size_t)head_dim * kPage);
    int8_t codes[32];
    for (int b = 0; b < head_dim / 32; ++b) {
      ok &= q8_block(k + 32 * b, ks + b * kPage + slot, codes);
      for (int i = 0; i < 32; ++i) kc[((size_t)b * 8 + (size_t)i / 4) * kPage * 4 + (size_t)slot * 4 + (size_t)i % 4] = (uint8_t)(codes[i] + 128);
    }
    auto* vc = (int8_t*)page_v;
    auto* vs = (uint16_t*)(vc + stride * kPage);
    for (int b = 0; b < value_dim / 32; ++b) ok &= q8_block(v + 32 * b, vs + slot * (value_dim / 32) + b, vc + stride * slot + 32 * b);
  }
  return ok;
}

}  // namespace HZ_UNIT
}  // namespace hz::cpu
