// SPDX-License-Identifier: Apache-2.0
// Lane primitives, scalar: one lane, the bit oracle of the other sets.
#pragma once
#include <stdint.h>
#include <string.h>

#include "hanzo/quant/format/portable.h"

namespace hz::cpu {
inline namespace HZ_UNIT {

constexpr int kLanes = 1;
using V = float;
using VI = int32_t;
using Mask = bool;

HZ_FN V load(const float* p) { return *p; }
HZ_FN void store(float* p, V v) { *p = v; }
HZ_FN V load_first(const float* p, int n, float fill) { return n > 0 ? *p : fill; }
HZ_FN void store_first(float* p, V v, int n) {
  if (n > 0) *p = v;
}
HZ_FN V load_half(const uint16_t* p) { return quant::half_value(*p); }
HZ_FN V load_bf16(const uint16_t* p) { return quant::bits_to_float((uint32_t)*p << 16); }
HZ_FN void store_half(uint16_t* p, V v) {
  uint32_t x;
  memcpy(&x, &v, 4);
  const uint32_t sign = (x >> 16) & 0x8000u, a = x & 0x7fffffffu;
  if (a > 0x7f800000u) { *p = (uint16_t)(sign | 0x7e00u | ((a >> 13) & 0x3ffu)); return; }
  if (a >= 0x477ff000u) { *p = (uint16_t)(sign | 0x7c00u); return; }
  if (a >= 0x38800000u) { *p = (uint16_t)(sign | ((a + 0xfffu + ((a >> 13) & 1u) - 0x38000000u) >> 13)); return; }
  if (a < 0x33000000u) { *p = (uint16_t)sign; return; }
  const uint32_t shift = 126 - (a >> 23), m = (a & 0x7fffffu) | 0x800000u, q = m >> shift;
  const uint32_t rest = m & ((1u << shift) - 1), half = 1u << (shift - 1);
  *p = (uint16_t)(sign | (q + (rest > half || (rest == half && (q & 1)) ? 1u : 0u)));
}
HZ_FN V set1(float f) { return f; }
HZ_FN V add(V a, V b) { return a + b; }
HZ_FN V sub(V a, V b) { return a - b; }
HZ_FN V mul(V a, V b) { return a * b; }
HZ_FN V div(V a, V b) { return a / b; }
HZ_FN V fma(V a, V b, V c) { return __builtin_fmaf(a, b, c); }
HZ_FN V max(V a, V b) { return a > b ? a : b; }  // b when either is NaN, as the vector instructions do
HZ_FN V neg(V a) { return -a; }
HZ_FN V abs(V a) { return __builtin_fabsf(a); }
HZ_FN V sqrt(V a) { return __builtin_sqrtf(a); }
HZ_FN V round_even(V a) { return __builtin_nearbyintf(a); }
HZ_FN Mask less(V a, V b) { return a < b; }
HZ_FN V select(Mask m, V yes, V no) { return m ? yes : no; }

HZ_FN VI load_i(const int32_t* p) { return *p; }
HZ_FN void store_i(int32_t* p, VI v) { *p = v; }
HZ_FN VI set1_i(int32_t i) { return i; }
HZ_FN VI add_i(VI a, VI b) { return (int32_t)((uint32_t)a + (uint32_t)b); }
HZ_FN VI sub_i(VI a, VI b) { return (int32_t)((uint32_t)a - (uint32_t)b); }
HZ_FN VI shl_by(VI a, int n) { return (int32_t)((uint32_t)a << n); }
HZ_FN VI shr_by(VI a, int n) { return (int32_t)((uint32_t)a >> n); }
HZ_FN VI sign_i(VI a) { return a < 0 ? -1 : 0; }
HZ_FN VI load_u16(const uint16_t* p) { return *p; }
HZ_FN VI mul_i(VI a, VI b) { return (int32_t)((uint32_t)a * (uint32_t)b); }
HZ_FN V to_float(VI a) { return (float)a; }
HZ_FN VI to_int(V a) { return (int32_t)a; }  // a is integral and small
HZ_FN V pow2(VI n) { return quant::bits_to_float((uint32_t)(n + 127) << 23); }  // -126 <= n <= 127
HZ_FN V bits(VI n) { return quant::bits_to_float((uint32_t)n); }
HZ_FN VI bits_i(V v) {
  VI i;
  memcpy(&i, &v, 4);
  return i;
}
HZ_FN VI and_i(VI a, VI b) { return a & b; }
HZ_FN VI or_i(VI a, VI b) { return a | b; }
HZ_FN VI max_i(VI a, VI b) { return a > b ? a : b; }
template <int N> HZ_FN VI shr_i(VI a) { return (int32_t)((uint32_t)a >> N); }
template <int N> HZ_FN VI shl_i(VI a) { return (int32_t)((uint32_t)a << N); }
// kLanes bytes, zero-extended.
HZ_FN VI load_u8(const uint8_t* p) { return *p; }
HZ_FN VI load_i8(const int8_t* p) { return *p; }
// round-to-nearest-even of kLanes values in [-127, 127].
HZ_FN void store_i8(int8_t* p, V v) { *p = (int8_t)__builtin_nearbyintf(v); }
// Sums of the first and second sixteen of 32 products in each of kLanes rows, w [kLanes][stride]; then for points of a codebook
// (quant/format/portable.h) with their signs, one word a row, `words` apart.
HZ_FN void dot32_rows(const int8_t* w, size_t, const int8_t* x, VI& first, VI& second) {
  first = second = 0;
  for (int k = 0; k < 16; ++k) {
    first += w[k] * x[k];
    second += w[k + 16] * x[k + 16];
  }
}
template <bool kShifted>
HZ_FN void dot32_points_rows(const int8_t* points, size_t stride, const uint32_t* signs, size_t, const int8_t* x, VI& first, VI& second) {
  int8_t w[32];
  for (int k = 0; k < 32; ++k) {
    const int minus = (int)(*signs >> k) & 1, p = points[k];
    w[k] = (int8_t)(kShifted ? 8 * p + 1 - 2 * minus : minus ? -p : p);
  }
  dot32_rows(w, stride, x, first, second);
}
HZ_FN int32_t sum_i(VI a) { return a; }

// The last steps of the 16-lane tree: lane j += lane j + 8, 4, 2, 1 over v[16 / kLanes].
HZ_FN float tree_add(const V* v) {
  float a[16];
  for (int i = 0; i < 16; ++i) a[i] = v[i];
  for (int w = 8; w > 0; w /= 2)
    for (int i = 0; i < w; ++i) a[i] = a[i] + a[i + w];
  return a[0];
}
HZ_FN float lane_max(V v) { return v; }
HZ_FN int32_t lane_max_i(VI v) { return v; }

// Weight codes: kLanes rows of four unsigned bytes each, against four signed activation bytes.
using Codes = uint32_t;
HZ_FN Codes load_codes(const uint8_t* p) {
  uint32_t c;
  memcpy(&c, p, 4);
  return c;
}
HZ_FN void store_codes(uint8_t* p, Codes c) { memcpy(p, &c, 4); }
template <int Shift> HZ_FN Codes shr_codes(Codes c) { return c >> Shift; }
template <int Shift> HZ_FN Codes shl_codes(Codes c) { return c << Shift; }
HZ_FN Codes and_codes(Codes c, int byte) { return c & ((uint32_t)byte * 0x01010101u); }
HZ_FN Codes or_codes(Codes a, Codes b) { return a | b; }
HZ_FN Codes lookup_codes(Codes c, const uint8_t* table) {  // table[16], c < 16 per byte
  Codes r = 0;
  for (int i = 0; i < 4; ++i) r |= (uint32_t)table[(c >> (8 * i)) & 15] << (8 * i);
  return r;
}

HZ_FN VI code_lanes(Codes c) { return (VI)c; }  // the four bytes of a row as one integer
HZ_FN Codes lane_codes(VI v) { return (Codes)v; }
// Codes times a scale of their row and an offset added, which makes bytes of the products again: so the four codes may be taken as one
// integer or two, whose bytes borrow from one another only on the way.
HZ_FN VI code_factor(VI scale) { return scale; }
HZ_FN Codes scaled_codes(Codes c, VI factor, VI offset) { return lane_codes(add_i(mul_i(code_lanes(c), factor), offset)); }
HZ_FN void prefetch(const void* p) { __builtin_prefetch(p); }

// Exact dot products of four, from a start value that both start() and finish() are told. Top: largest code, which bounds how long a set
// may stay in narrow integers.
template <int Top>
struct Dot {
  int32_t acc;
  HZ_FN Dot start(int32_t v) { return {v}; }
  template <int Step> void step(Codes w, const int8_t* x) {
    for (int i = 0; i < 4; ++i) acc += (int32_t)((w >> (8 * i)) & 255u) * x[i];
  }
  VI finish(int32_t) const { return acc; }
};

}  // namespace HZ_UNIT
}  // namespace hz::cpu

#include "kernels/cpu/sub_dot.hpp"
