// SPDX-License-Identifier: Apache-2.0
// Row kernels of the way back: derivatives of the elementwise functions, norms, softmax, rope. One row a call.
#pragma once

namespace hz::cpu {
inline namespace HZ_UNIT {

// Dot of two rows by the 16-lane rule.
static float dot_rows(const float* a, const float* b, int64_t n) {
  V acc[kVecs];
  for (int v = 0; v < kVecs; ++v) acc[v] = set1(0.0f);
  for (int64_t i = 0; i < n; i += 16)
    for (int v = 0; v < kVecs; ++v) {
      const int left = (int)(n - i) - v * kLanes;
      if (left <= 0) break;
      acc[v] = left >= kLanes ? fma(load(a + i + v * kLanes), load(b + i + v * kLanes), acc[v])
                              : fma(load_first(a + i + v * kLanes, left, 0.0f), load_first(b + i + v * kLanes, left, 0.0f), acc[v]);
    }
  return tree_add(acc);
}

// d/dx of x * sigmoid(v(x)), with dv = v'(x): s + x s (1 - s) v'.
HZ_FN V gated_slope(V x, V v, V dv) {
  const V s = sigmoid(v);
  return fma(mul(mul(x, s), sub(set1(1.0f), s)), dv, s);
}

// Calls body(f) with f(x) = the derivative of the function that `kind` names.
template <class Body>
HZ_FN void with_slope(Unary kind, Body body) {
  switch (kind) {
    case Unary::silu: return body([](V x) { return gated_slope(x, x, set1(1.0f)); });
    case Unary::gelu_quick: return body([](V x) { return gated_slope(x, mul(x, set1(1.702f)), set1(1.702f)); });
    case Unary::gelu_tanh:
      return body([](V x) {
        const V x2 = mul(x, x), c = set1(0x1.988454p+0f);  // 2 sqrt(2 / pi)
        const V v = mul(c, fma(mul(set1(0.044715f), x2), x, x));
        return gated_slope(x, v, mul(c, fma(set1(3 * 0.044715f), x2, set1(1.0f))));
      });
    case Unary::gelu_erf:
      return body([](V x) {  // Phi(x) + x phi(x)
        const V density = mul(set1(0x1.988454p-2f), exp(mul(set1(-0.5f), mul(x, x))));
        return fma(x, density, mul(set1(0.5f), erfc_of_negative(x)));
      });
    case Unary::tanh:
      return body([](V x) {
        const V t = tanh(x);
        return fma(neg(t), t, set1(1.0f));
      });
    case Unary::sigmoid:
      return body([](V x) {
        const V s = sigmoid(x);
        return mul(s, sub(set1(1.0f), s));
      });
    case Unary::exp: return body([](V x) { return exp(x); });
    case Unary::log: return body([](V x) { return div(set1(1.0f), x); });
    case Unary::relu: return body([](V x) { return select(less(set1(0.0f), x), set1(1.0f), set1(0.0f)); });
    case Unary::relu2: return body([](V x) { return mul(set1(2.0f), relu(x)); });
    case Unary::neg: return body([](V) { return set1(-1.0f); });
  }
}

static void unary_grad(Unary kind, const float* x, const float* dy, int64_t n, float* dx) {
  with_slope(kind, [&](auto f) { map_row(n, dx, [&](int64_t i, int m) { return mul(take(dy, i, m), f(take(x, i, m))); }); });
}
static void softcap_grad(const float* y, float cap, const float* dy, int64_t n, float* dx) {
  const V inv = set1(1.0f / cap);
  map_row(n, dx, [&](int64_t i, int m) {
    const V t = mul(take(y, i, m), inv);
    return mul(take(dy, i, m), fma(neg(t), t, set1(1.0f)));
  });
}
// y = f(gate) * up
static void glu_grad(Unary kind, const float* gate, const float* up, const float* dy, int64_t n, float* dgate, float* dup) {
  if (dup != nullptr)
    with_unary(kind, [&](auto f) { map_row(n, dup, [&](int64_t i, int m) { return mul(take(dy, i, m), f(take(gate, i, m))); }); });
  if (dgate != nullptr)
    with_slope(kind, [&](auto f) {
      map_row(n, dgate, [&](int64_t i, int m) { return mul(mul(take(dy, i, m), take(up, i, m)), f(take(gate, i, m))); });
    });
}
// y = softmax(x): dx = y (dy - sum(y dy))
static void softmax_grad(const float* y, const float* dy, int64_t n, float* dx) {
  const V s = set1(dot_rows(y, dy, n));
  map_row(n, dx, [&](int64_t i, int m) { return mul(take(y, i, m), sub(take(dy, i, m), s)); });
}

// Mean (0 for rms) and 1 / root of a row, as the norms take them.
static void norm_stats(bool rms, const float* x, int64_t n, float eps, float* mean_out, float* r_out) {
  const float mean = rms ? 0.0f : lane_sum(x, n, [](V v, V acc) { return add(acc, v); }) / (float)n;
  const V vm = set1(mean);
  const float s = lane_sum(x, n, [vm](V v, V acc) {
    const V c = sub(v, vm);
    return fma(c, c, acc);
  });
  *mean_out = mean;
  *r_out = 1.0f / __builtin_sqrtf(s / (float)n + eps);
}

// xh = (x - mean) r, g = dy w: dx = r (g - xh mean(g xh)), for layer norms also minus r mean(g). dx may not be dy.
static void norm_grad(bool rms, const float* x, const float* w, const float* dy, int64_t n, float mean, float r, float* dx) {
  const V vm = set1(mean), vr = set1(r);
  map_row(n, dx, [&](int64_t i, int m) { return w ? mul(take(dy, i, m), take(w, i, m)) : take(dy, i, m); });
  float sum = 0.0f, dot = dot_rows(dx, x, n);
  if (!rms) {
    sum = lane_sum(dx, n, [](V v, V acc) { return add(acc, v); });
    dot -= sum * mean;
  }
  const V c = set1(dot * r / (float)n), g0 = set1(sum / (float)n);
  map_row(n, dx, [&](int64_t i, int m) {
    const V xh = mul(sub(take(x, i, m), vm), vr);
    return mul(vr, fma(neg(xh), c, sub(take(dx, i, m), g0)));
  });
}
// dw += dy (x - mean) r, db += dy; either may be null.
static void norm_weight_grad(const float* x, const float* dy, int64_t n, float mean, float r, float* dw, float* db) {
  const V vm = set1(mean), vr = set1(r);
  if (dw != nullptr) map_row(n, dw, [&](int64_t i, int m) { return fma(take(dy, i, m), mul(sub(take(x, i, m), vm), vr), take(dw, i, m)); });
  if (db != nullptr) map_row(n, db, [&](int64_t i, int m) { return add(take(db, i, m), take(dy, i, m)); });
}

// The rotation turned back: da = a' c + b' s, db = b' c - a' s.
static void rope_grad(bool adjacent, const float* dy, const float* cs, int head_dim, int rot, float* dx) {
  const int step = adjacent ? 1 : rot / 2, stride = adjacent ? 2 : 1;
  for (int i = 0; i < rot / 2; ++i) {
    const float a = dy[i * stride], b = dy[i * stride + step], c = cs[2 * i], s = cs[2 * i + 1];
    dx[i * stride] = __builtin_fmaf(a, c, b * s);
    dx[i * stride + step] = __builtin_fmaf(b, c, -(a * s));
  }
  for (int i = rot; i < head_dim; ++i) dx[i] = dy[i];
}

}  // namespace HZ_UNIT
}  // namespace hz::cpu
