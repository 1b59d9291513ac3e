// SPDX-License-Identifier: Apache-2.0
// Pages of 64 positions: how K and V are written, and what a group of queries reads of them. K transposed (lanes = keys),
// V by rows (lanes = value dims).
// Page of one kv head, F16 or F32: K [head_dim][64], V [64][stride16(value_dim)].
// Q8_0: K codes [head_dim / 32][8][64][4] as code + 128, K scales half [head_dim / 32][64];
//       V codes int8 [64][stride16(value_dim)], V scales half [64][value_dim / 32].
#pragma once

namespace hz::cpu {
inline namespace HZ_UNIT {

constexpr int kPage = 64;
constexpr int kMaxDim = 1024;  // largest head or value dimension
constexpr int kKeyVecs = kPage / kLanes;
constexpr int kSumVecs = 4;    // vectors of sums a query has in registers at a time

HZ_FN int64_t stride16(int64_t n) { return (n + 15) / 16 * 16; }

// The query as int8 groups of 32, made once per query.
struct QuantizedQuery {
  int8_t codes[kMaxDim];
  float scales[kMaxDim / 32];
  int32_t sums[kMaxDim / 16];
};

// Cache kinds: Query is what scores() reads of a query; Page what values() reads beside the bytes, made once a page.
// scores: raw dots of R queries with the 64 keys of a page, one chain a key, dimensions ascending.
// values: V rows [begin, end) weighted by p, positions ascending; added to what o holds where `carry`.
// `ahead`: what is read next, this page's V after its K and the next page's K after V; as much of it is asked for as is read meanwhile.
// A vector of the page serves all R queries before the next one is loaded: R broadcasts and one vector beside the sums.
template <class Element>
struct FloatCache {
  struct Query {
    const float* q;
    HZ_FN Query make(const AttendArgs&, const AttendQuery& from) { return {from.q}; }
  };
  struct Page {
    HZ_FN void read(const AttendArgs&, const std::byte*, Page&) {}
  };

  template <int R>
  HZ_FN void scores(const AttendArgs& a, const std::byte* page_k, const Query* q, float (*s)[kPage], const std::byte* ahead) {
    const auto* k = (const typename Element::T*)page_k;
    constexpr int B = kKeyVecs < kSumVecs ? kKeyVecs : kSumVecs;
    for (int v0 = 0; v0 < kKeyVecs; v0 += B) {
      V acc[R][B];
      for (int r = 0; r < R; ++r)
        for (int j = 0; j < B; ++j) acc[r][j] = set1(0.0f);
      for (int d = 0; d < a.head_dim; ++d) {
        V x[R];
        prefetch_bytes(ahead + (size_t)(kPage * d + v0 * kLanes) * sizeof(*k), B * kLanes * sizeof(*k));
        for (int r = 0; r < R; ++r) x[r] = set1(q[r].q[d]);
        for (int j = 0; j < B; ++j) {
          const V key = Element::get(k + kPage * d + (v0 + j) * kLanes);
          for (int r = 0; r < R; ++r) acc[r][j] = fma(x[r], key, acc[r][j]);
        }
      }
      for (int r = 0; r < R; ++r)
        for (int j = 0; j < B; ++j) store(s[r] + (v0 + j) * kLanes, acc[r][j]);
    }
  }

  template <int R, int B>
  HZ_FN void value_block(const typename Element::T* v, int64_t stride, const float (*p)[kPage], int begin, int end, float* const* o,
                         bool carry, const std::byte* ahead) {
    V acc[R][B];
    for (int r = 0; r < R; ++r)
      for (int j = 0; j < B; ++j) acc[r][j] = carry ? load(o[r] + j * kLanes) : set1(0.0f);
    for (int i = begin; i < end; ++i) {
      V w[R];
      prefetch_bytes(ahead + stride * i * (int64_t)sizeof(*v), B * kLanes * sizeof(*v));
      for (int r = 0; r < R; ++r) w[r] = set1(p[r][i]);
      for (int j = 0; j < B; ++j) {
        const V value = Element::get(v + stride * i + j * kLanes);
        for (int r = 0; r < R; ++r) acc[r][j] = fma(w[r], value, acc[r][j]);
      }
    }
    for (int r = 0; r < R; ++r)
      for (int j = 0; j < B; ++j) store(o[r] + j * kLanes, acc[r][j]);
  }

  template <int R>
  HZ_FN void values(const AttendArgs& a, const Page&, const std::byte* page_v, const float (*p)[kPage], int begin, int end, float* const* o,
                    bool carry, const std::byte* ahead) {
    const int64_t stride = stride16(a.value_dim);
    const auto* v = (const typename Element::T*)page_v;
    float* out[R];
    for (int64_t d = 0; d < stride;) {
      for (int r = 0; r < R; ++r) out[r] = o[r] + d;
      if (d + kSumVecs * kLanes <= stride) {
        value_block<R, kSumVecs>(v + d, stride, p, begin, end, out, carry, ahead + d * (int64_t)sizeof(*v));
        d += kSumVecs * kLanes;
      } else {
        value_block<R, 1>(v + d, stride, p, begin, end, out, carry, ahead + d * (int64_t)sizeof(*v));
        d += kLanes;
      }
    }
  }
};
struct HalfElement {
  using T = uint16_t;
  HZ_FN V get(const T* p) { return load_half(p); }
};
struct FloatElement {
  using T = float;
  HZ_FN V get(const T* p) { return load(p); }
};
using F16Cache = FloatCache<HalfElement>;
using F32Cache = FloatCache<FloatElement>;

struct Q8Cache {
  struct Query {
    QuantizedQuery q;
    HZ_FN Query make(const AttendArgs& a, const AttendQuery& from) {
      Query made;
      quantize(from.q, a.head_dim, made.q.codes, made.q.scales, made.q.sums);
      return made;
    }
  };
  struct Page {
    alignas(64) float scales[kMaxDim / 32][kPage];  // of V, turned
    HZ_FN void read(const AttendArgs& a, const std::byte* page_v, Page& page) {
      const int blocks = a.value_dim / 32;
      const auto* from = (const uint16_t*)(page_v + stride16(a.value_dim) * kPage);
      for (int b = 0; b < blocks; ++b) {
        uint16_t column[kPage];
        for (int i = 0; i < kPage; ++i) column[i] = from[i * blocks + b];
        for (int i = 0; i < kPage; i += kLanes) store(page.scales[b] + i, load_half(column + i));
      }
    }
  };

  template <int R, int Step>
  HZ_FN void steps(Dot<255>* dot, const uint8_t* w, const Query* q, int at) {
    if constexpr (Step < 8) {
      const Codes c = load_codes(w + Step * kPage * 4);
      for (int r = 0; r < R; ++r) dot[r].template step<Step>(c, q[r].q.codes + at + 4 * Step);
      steps<R, Step + 1>(dot, w, q, at);
    }
  }

  template <int R>
  HZ_FN void scores(const AttendArgs& a, const std::byte* page_k, const Query* q, float (*s)[kPage], const std::byte* ahead) {
    const auto* codes = (const uint8_t*)page_k;
    const auto* scales = (const uint16_t*)(codes + (size_t)a.head_dim * kPage);
    for (int v = 0; v < kKeyVecs; ++v) {
      V acc[R];
      for (int r = 0; r < R; ++r) acc[r] = set1(0.0f);
      for (int b = 0; b < a.head_dim / 32; ++b) {
        Dot<255> dot[R];
        int32_t start[R];
        prefetch_bytes(ahead + (size_t)(v * a.head_dim + 32 * b) * kLanes, 32 * kLanes);
        for (int r = 0; r < R; ++r) dot[r] = Dot<255>::start(start[r] = -128 * (q[r].q.sums[2 * b] + q[r].q.sums[2 * b + 1]));
        steps<R, 0>(dot, codes + (size_t)b * 32 * kPage + v * kLanes * 4, q, 32 * b);
        const V dk = load_half(scales + b * kPage + v * kLanes);
        for (int r = 0; r < R; ++r) acc[r] = fma(to_float(dot[r].finish(start[r])), mul(dk, set1(q[r].q.scales[b])), acc[r]);
      }
      for (int r = 0; r < R; ++r) store(s[r] + v * kLanes, acc[r]);
    }
  }

  template <int R>
  HZ_FN void values(const AttendArgs& a, const Page& page, const std::byte* page_v, const float (*p)[kPage], int begin, int end,
                    float* const* o, bool carry, const std::byte* ahead) {
    const int64_t stride = stride16(a.value_dim);
    const auto* codes = (const int8_t*)page_v;
    constexpr int B = 32 / kLanes < kSumVecs ? 32 / kLanes : kSumVecs;  // divides a block of 32
    prefetch_bytes(ahead + (size_t)a.head_dim * kPage, (size_t)a.head_dim * 4);  // the next page's scales, behind its codes
    prefetch_bytes(ahead + (a.v_offset - a.k_offset) + stride * kPage, (size_t)a.value_dim * 4);
    for (int b = 0; b < a.value_dim / 32; ++b) {
      alignas(64) float w[R][kPage];
      for (int r = 0; r < R; ++r)
        for (int i = 0; i < kPage; i += kLanes) store(w[r] + i, mul(load(p[r] + i), load(page.scales[b] + i)));
      for (int64_t d = 32 * b; d < 32 * b + 32; d += B * kLanes) {
        V acc[R][B];
        for (int r = 0; r < R; ++r)
          for (int j = 0; j < B; ++j) acc[r][j] = carry ? load(o[r] + d + j * kLanes) : set1(0.0f);
        for (int i = begin; i < end; ++i) {
          V x[R];
          if (d % 64 == 0) prefetch(ahead + stride * i + d);
          for (int r = 0; r < R; ++r) x[r] = set1(w[r][i]);
          for (int j = 0; j < B; ++j) {
            const V code = to_float(load_i8(codes + stride * i + d + j * kLanes));
            for (int r = 0; r < R; ++r) acc[r][j] = fma(x[r], code, acc[r][j]);
          }
        }
        for (int r = 0; r < R; ++r)
          for (int j = 0; j < B; ++j) store(o[r] + d + j * kLanes, acc[r][j]);
      }
    }
  }
};

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

static bool kv_write(KvKind kind, const float* k, const float* v, int head_dim, int value_dim, int slot, std::byte* page_k,
                     std::byte* page_v) {
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
      for (int i = 0; i < 32; ++i)
        kc[((size_t)b * 8 + (size_t)i / 4) * kPage * 4 + (size_t)slot * 4 + (size_t)i % 4] = (uint8_t)(codes[i] + 128);
    }
    auto* vc = (int8_t*)page_v;
    auto* vs = (uint16_t*)(vc + stride * kPage);
    for (int b = 0; b < value_dim / 32; ++b) ok &= q8_block(v + 32 * b, vs + slot * (value_dim / 32) + b, vc + stride * slot + 32 * b);
  }
  return ok;
}

}  // namespace HZ_UNIT
}  // namespace hz::cpu
