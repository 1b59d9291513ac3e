// SPDX-License-Identifier: Apache-2.0
// Row kernels: norms, activation quantization, elementwise functions, rope. One row a call.
#pragma once

namespace hz::cpu {
inline namespace HZ_UNIT {

constexpr int kVecs = 16 / kLanes;  // vectors that make the 16 virtual lanes of a reduction

// Sum over a vector: lane i mod 16 ascending, then the tree. f(value vector, lane) folds one vector in.
template <class Fold>
HZ_FN float lane_sum(const float* x, int64_t n, Fold fold) {
  V acc[kVecs];
  for (int v = 0; v < kVecs; ++v) acc[v] = set1(0.0f);
  int64_t i = 0;
  for (; i + 16 <= n; i += 16)
    for (int v = 0; v < kVecs; ++v) acc[v] = fold(load(x + i + v * kLanes), acc[v]);
  if (i < n)  // a missing element touches nothing: its lane keeps its value
    for (int v = 0; v < kVecs; ++v) {
      const int left = (int)(n - i) - v * kLanes;
      if (left <= 0) break;
      const V folded = fold(load_first(x + i + v * kLanes, left, 0.0f), acc[v]);
      float keep[kLanes], done[kLanes];
      store(keep, acc[v]);
      store(done, folded);
      for (int j = 0; j < kLanes && j < left; ++j) keep[j] = done[j];
      acc[v] = load(keep);
    }
  return tree_add(acc);
}

// y[i] = f(i, vectors...) over a row, the tail masked.
template <class F>
HZ_FN void map_row(int64_t n, float* y, F f) {
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) store(y + i, f(i, kLanes));
  if (i < n) store_first(y + i, f(i, (int)(n - i)), (int)(n - i));
}
HZ_FN V take(const float* x, int64_t i, int n) { return n == kLanes ? load(x + i) : load_first(x + i, n, 0.0f); }

static void rms_norm(const float* x, const float* w, int64_t n, float eps, float* y) {
  const float s = lane_sum(x, n, [](V v, V acc) { return fma(v, v, acc); });
  const V r = set1(1.0f / __builtin_sqrtf(s / (float)n + eps));
  if (w == nullptr) map_row(n, y, [&](int64_t i, int m) { return mul(take(x, i, m), r); });
  else map_row(n, y, [&](int64_t i, int m) { return mul(mul(take(x, i, m), r), take(w, i, m)); });
}

static void layer_norm(const float* x, const float* w, const float* b, int64_t n, float eps, float* y) {
  const float mean = lane_sum(x, n, [](V v, V acc) { return add(acc, v); }) / (float)n;
  const V vm = set1(mean);
  const float s = lane_sum(x, n, [vm](V v, V acc) {
    const V c = sub(v, vm);
    return fma(c, c, acc);
  });
  const V r = set1(1.0f / __builtin_sqrtf(s / (float)n + eps));
  map_row(n, y, [&](int64_t i, int m) {
    const V c = mul(sub(take(x, i, m), vm), r);
    const V weight = w ? take(w, i, m) : set1(1.0f);
    return b ? fma(c, weight, take(b, i, m)) : mul(c, weight);
  });
}

// The scale rule of the contract for each group of 32 (docs/numerics.md).
static void quantize(const float* x, int64_t n, int8_t* codes, float* scales, int32_t* sums) {
  for (int64_t g = 0; g < n / 32; ++g, x += 32, codes += 32, sums += 2) {
    VI top = set1_i(0);
    for (int i = 0; i < 32; i += kLanes) top = max_i(top, and_i(bits_i(load(x + i)), set1_i(0x7fffffff)));
    const int32_t amax_bits = lane_max_i(top);
    const float amax = quant::bits_to_float((uint32_t)amax_bits);
    if (amax_bits >= 0x7f800000 || amax < 0x1p-64f) {
      memset(codes, 0, 32);
      sums[0] = sums[1] = 0;
      scales[g] = amax_bits >= 0x7f800000 ? __builtin_nanf("") : 0.0f;
      continue;
    }
    const V inv = set1(127.0f / amax);
    for (int i = 0; i < 32; i += kLanes) store_i8(codes + i, mul(load(x + i), inv));
    for (int h = 0; h < 2; ++h) {
      VI s = set1_i(0);
      for (int i = 0; i < 16; i += kLanes) s = add_i(s, load_i8(codes + 16 * h + i));
      sums[h] = sum_i(s);
    }
    scales[g] = amax / 127.0f;
  }
}

static void add_rows(const float* a, const float* b, int64_t n, float* y) {
  map_row(n, y, [&](int64_t i, int m) { return add(take(a, i, m), take(b, i, m)); });
}
static void mul_rows(const float* a, const float* b, int64_t n, float* y) {
  map_row(n, y, [&](int64_t i, int m) { return mul(take(a, i, m), take(b, i, m)); });
}
static void scale_row(const float* a, float s, int64_t n, float* y) {
  map_row(n, y, [&](int64_t i, int m) { return mul(take(a, i, m), set1(s)); });
}
static void axpy(float s, const float* x, int64_t n, float* y) {
  map_row(n, y, [&](int64_t i, int m) { return fma(set1(s), take(x, i, m), take(y, i, m)); });
}
static void softcap(const float* a, float cap, int64_t n, float* y) {
  const float inv = 1.0f / cap;
  map_row(n, y, [&](int64_t i, int m) { return mul(set1(cap), tanh(mul(take(a, i, m), set1(inv)))); });
}

HZ_FN V relu(V x) { return select(less(x, set1(0.0f)), set1(0.0f), x); }  // keeps NaN

// Calls body(f) with the function that `kind` names.
template <class Body>
HZ_FN void with_unary(Unary kind, Body body) {
  switch (kind) {
    case Unary::silu: return body([](V x) { return silu(x); });
    case Unary::gelu_tanh: return body([](V x) { return gelu_tanh(x); });
    case Unary::gelu_erf: return body([](V x) { return gelu_erf(x); });
    case Unary::gelu_quick: return body([](V x) { return gelu_quick(x); });
    case Unary::tanh: return body([](V x) { return tanh(x); });
    case Unary::sigmoid: return body([](V x) { return sigmoid(x); });
    case Unary::exp: return body([](V x) { return exp(x); });
    case Unary::log: return body([](V x) { return log(x); });
    case Unary::relu: return body([](V x) { return relu(x); });
    case Unary::relu2: return body([](V x) { return mul(relu(x), relu(x)); });
    case Unary::neg: return body([](V x) { return neg(x); });
  }
}
static void unary(Unary kind, const float* x, int64_t n, float* y) {
  with_unary(kind, [&](auto f) { map_row(n, y, [&](int64_t i, int m) { return f(take(x, i, m)); }); });
}
static void glu(Unary kind, const float* gate, const float* up, int64_t n, float* y) {
  with_unary(kind, [&](auto f) { map_row(n, y, [&](int64_t i, int m) { return mul(f(take(gate, i, m)), take(up, i, m)); }); });
}

// a' = fma(a, c, -(b * s)), b' = fma(a, s, b * c). Dimensions from rot on pass through.
static void rope(bool adjacent, const float* x, const float* cs, int head_dim, int rot, float* y) {
  const int step = adjacent ? 1 : rot / 2, stride = adjacent ? 2 : 1;
  for (int i = 0; i < rot / 2; ++i) {
    const float a = x[i * stride], b = x[i * stride + step], c = cs[2 * i], s = cs[2 * i + 1];
    y[i * stride] = __builtin_fmaf(a, c, -(b * s));
    y[i * stride + step] = __builtin_fmaf(a, s, b * c);
  }
  for (int i = rot; i < head_dim; ++i) y[i] = x[i];
}

static float row_max(const float* x, int64_t n) {
  V m = set1(-__builtin_inff());
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) m = max(m, load(x + i));
  if (i < n) m = max(m, load_first(x + i, (int)(n - i), -__builtin_inff()));
  return lane_max(m);
}
static float exp_sum(const float* x, float shift, int64_t n, float* y) {
  map_row(n, y, [&](int64_t i, int m) { return exp(sub(take(x, i, m), set1(shift))); });
  return lane_sum(y, n, [](V v, V acc) { return add(acc, v); });
}
static bool finite(const float* x, int64_t n) {
  VI top = set1_i(0);
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) top = max_i(top, and_i(bits_i(load(x + i)), set1_i(0x7fffffff)));
  if (i < n) top = max_i(top, and_i(bits_i(load_first(x + i, (int)(n - i), 0.0f)), set1_i(0x7fffffff)));
  return lane_max_i(top) < 0x7f800000;
}

}  // namespace HZ_UNIT
}  // namespace hz::cpu
