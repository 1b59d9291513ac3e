// SPDX-License-Identifier: Apache-2.0
// Elementary functions on lanes: own polynomials evaluated with fma, the same sequence in every set.
// Coefficients are minimax fits (Lawson's iteration in double precision, rounded to float32).
#pragma once

namespace hz::cpu {
inline namespace HZ_UNIT {

// e^x: x = n ln 2 + r, |r| <= ln 2 / 2; 1 + r + r^2 P(r). Exactly 1 at 0, +0 below -64, inf above 88.72.
HZ_FN V exp(V x) {
  V n = max(round_even(mul(x, set1(0x1.715476p+0f))), set1(-126.0f));
  n = neg(max(neg(n), set1(-127.0f)));
  V r = fma(n, set1(-0x1.62e400p-1f), x);
  r = fma(n, set1(-0x1.7f7d1cp-20f), r);
  V p = set1(0x1.9f08f8p-13f);
  p = fma(p, r, set1(0x1.6d8ce6p-10f));
  p = fma(p, r, set1(0x1.111270p-7f));
  p = fma(p, r, set1(0x1.55548ep-5f));
  p = fma(p, r, set1(0x1.555554p-3f));
  p = fma(p, r, set1(0.5f));
  p = fma(mul(p, r), r, r);
  p = add(p, set1(1.0f));
  V y = mul(p, pow2(to_int(n)));
  y = select(less(x, set1(-64.0f)), set1(0.0f), y);
  return select(less(set1(88.72f), x), set1(__builtin_inff()), y);
}

// 1 / (1 + e^-x), from e^-|x| so that nothing overflows.
HZ_FN V sigmoid(V x) {
  const V e = exp(neg(abs(x)));
  return div(select(less(x, set1(0.0f)), e, set1(1.0f)), add(set1(1.0f), e));
}

// x * sigmoid(a x) with one rounding less than the product: x e / (1 + e) or x / (1 + e), e = e^-|a x|.
HZ_FN V gated(V x, V ax) {
  const V e = exp(neg(abs(ax)));
  return div(select(less(ax, set1(0.0f)), mul(x, e), x), add(set1(1.0f), e));
}

HZ_FN V silu(V x) { return gated(x, x); }

// tanh: x + x^3 P(x^2) below 0.625, else (1 - e) / (1 + e) with e = e^-2|x| and the sign of x.
HZ_FN V tanh(V x) {
  const V z = mul(x, x);
  V p = set1(-0x1.76ac1ap-8f);
  p = fma(p, z, set1(0x1.5256d8p-6f));
  p = fma(p, z, set1(-0x1.b84448p-5f));
  p = fma(p, z, set1(0x1.110768p-3f));
  p = fma(p, z, set1(-0x1.555534p-2f));
  const V small = fma(mul(p, z), x, x);
  const V e = exp(mul(set1(-2.0f), abs(x)));
  const V t = div(sub(set1(1.0f), e), add(set1(1.0f), e));
  const V large = select(less(x, set1(0.0f)), neg(t), t);
  return select(less(abs(x), set1(0.625f)), small, large);
}

// GELU in its tanh form: x * sigmoid(2 sqrt(2/pi) (x + 0.044715 x^3)) (Hendrycks and Gimpel 2016).
HZ_FN V gelu_tanh(V x) {
  const V u = mul(set1(0x1.988454p+0f), fma(mul(mul(set1(0.044715f), x), x), x, x));
  return gated(x, u);
}

// x * sigmoid(1.702 x).
HZ_FN V gelu_quick(V x) { return gated(x, mul(set1(1.702f), x)); }

// erfc(a) for a >= 1: e^(-a^2) times a polynomial in 1 / (1 + 0.4 a). The square's rounding error is fed back.
HZ_FN V erfc_tail(V a) {
  const V t = div(set1(1.0f), fma(set1(0.4f), a, set1(1.0f)));
  V p = set1(0x1.199d56p-4f);
  p = fma(p, t, set1(-0x1.044f42p-2f));
  p = fma(p, t, set1(0x1.243838p-2f));
  p = fma(p, t, set1(-0x1.c39c44p-4f));
  p = fma(p, t, set1(0x1.965d60p-3f));
  p = fma(p, t, set1(0x1.316548p-3f));
  p = fma(p, t, set1(0x1.b229fcp-3f));
  p = fma(p, t, set1(0x1.cd0fe6p-3f));
  p = fma(p, t, set1(0x1.ce4402p-3f));
  p = fma(p, t, set1(-0x1.562a60p-20f));
  const V s = mul(a, a), rest = fma(a, a, neg(s));
  const V e = exp(neg(s));
  return mul(p, fma(e, neg(rest), e));
}

// erf(x) below 1 as x P(x^2).
HZ_FN V erf_small(V x) {
  const V z = mul(x, x);
  V p = set1(0x1.4ae4d0p-14f);
  p = fma(p, z, set1(-0x1.a485ecp-11f));
  p = fma(p, z, set1(0x1.5419f6p-8f));
  p = fma(p, z, set1(-0x1.b7fbb4p-6f));
  p = fma(p, z, set1(0x1.ce2d20p-4f));
  p = fma(p, z, set1(-0x1.81273ep-2f));
  p = fma(p, z, set1(0x1.20dd74p+0f));
  return mul(p, x);
}

// erfc(-x / sqrt 2), twice the normal distribution, without cancellation for negative x.
HZ_FN V erfc_of_negative(V x) {
  const V u = mul(x, set1(0x1.6a09e6p-1f)), a = abs(u);
  const V tail = erfc_tail(max(a, set1(1.0f)));
  const V far = select(less(u, set1(0.0f)), tail, sub(set1(2.0f), tail));
  return select(less(a, set1(1.0f)), add(set1(1.0f), erf_small(u)), far);
}

// GELU with the error function: x / 2 * erfc(-x / sqrt 2).
HZ_FN V gelu_erf(V x) {
  const V c = erfc_of_negative(x);
  return mul(mul(set1(0.5f), x), c);
}

// Natural logarithm of x > 0: exponent and mantissa in [sqrt 1/2, sqrt 2), f - f^2/2 + f^3 P(f).
HZ_FN V log(V x) {
  const Mask tiny = less(x, set1(0x1p-126f));
  const V xs = select(tiny, mul(x, set1(0x1p24f)), x);
  const VI i = add_i(bits_i(xs), set1_i(0x3f800000 - 0x3f3504f3));
  const V e = sub(to_float(add_i(shr_i<23>(i), set1_i(-127))), select(tiny, set1(24.0f), set1(0.0f)));
  const V f = sub(bits(add_i(and_i(i, set1_i(0x7fffff)), set1_i(0x3f3504f3))), set1(1.0f));
  V p = set1(0x1.1b43c2p-4f);
  p = fma(p, f, set1(-0x1.e2de8cp-4f));
  p = fma(p, f, set1(0x1.e649e4p-4f));
  p = fma(p, f, set1(-0x1.fb44d0p-4f));
  p = fma(p, f, set1(0x1.233362p-3f));
  p = fma(p, f, set1(-0x1.5562dap-3f));
  p = fma(p, f, set1(0x1.99a53cp-3f));
  p = fma(p, f, set1(-0x1.ffffeep-3f));
  p = fma(p, f, set1(0x1.555546p-2f));
  const V s = mul(f, f);
  V y = mul(mul(p, s), f);
  y = fma(e, set1(-0x1.bd0106p-13f), y);  // ln 2 = 0.693359375 - 2.12194440e-4
  y = fma(set1(-0.5f), s, y);
  y = add(y, f);
  y = fma(e, set1(0x1.63p-1f), y);
  y = select(less(x, set1(0.0f)), set1(__builtin_nanf("")), y);
  y = select(less(set1(0x1.fffffep+127f), x), x, y);
  y = select(less(abs(x), set1(0x1p-149f)), set1(-__builtin_inff()), y);
  const Mask ordered = less(neg(abs(x)), set1(1.0f));  // false for NaN alone
  return select(ordered, y, x);
}

}  // namespace HZ_UNIT
}  // namespace hz::cpu
