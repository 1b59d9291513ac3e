// SPDX-License-Identifier: Apache-2.0
// Lane primitives, AVX-512 (F BW DQ VL VNNI): sixteen lanes.
#pragma once
#include <immintrin.h>
#include <stdint.h>
#include <string.h>

#include "hanzo/quant/format/portable.h"
#include "kernels/cpu/dot32.hpp"

namespace hz::cpu {
inline namespace HZ_UNIT {

constexpr int kLanes = 16;
using V = __m512;
using VI = __m512i;
using Mask = __mmask16;

HZ_FN V load(const float* p) { return _mm512_loadu_ps(p); }
HZ_FN void store(float* p, V v) { _mm512_storeu_ps(p, v); }
HZ_FN V load_first(const float* p, int n, float fill) {
  return _mm512_mask_loadu_ps(_mm512_set1_ps(fill), (__mmask16)(n >= 16 ? 0xffff : (1 << n) - 1), p);
}
HZ_FN void store_first(float* p, V v, int n) { _mm512_mask_storeu_ps(p, (__mmask16)(n >= 16 ? 0xffff : (1 << n) - 1), v); }
HZ_FN V load_half(const uint16_t* p) { return _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i*)p)); }
HZ_FN V load_bf16(const uint16_t* p) {
  return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i*)p)), 16));
}
HZ_FN void store_half(uint16_t* p, V v) { _mm256_storeu_si256((__m256i*)p, _mm512_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT)); }
HZ_FN V set1(float f) { return _mm512_set1_ps(f); }
HZ_FN V add(V a, V b) { return _mm512_add_ps(a, b); }
HZ_FN V sub(V a, V b) { return _mm512_sub_ps(a, b); }
HZ_FN V mul(V a, V b) { return _mm512_mul_ps(a, b); }
HZ_FN V div(V a, V b) { return _mm512_div_ps(a, b); }
HZ_FN V fma(V a, V b, V c) { return _mm512_fmadd_ps(a, b, c); }
HZ_FN V max(V a, V b) { return _mm512_max_ps(a, b); }
HZ_FN V neg(V a) { return _mm512_xor_ps(a, _mm512_set1_ps(-0.0f)); }
HZ_FN V abs(V a) { return _mm512_andnot_ps(_mm512_set1_ps(-0.0f), a); }
HZ_FN V sqrt(V a) { return _mm512_sqrt_ps(a); }
HZ_FN V round_even(V a) { return _mm512_roundscale_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }
HZ_FN Mask less(V a, V b) { return _mm512_cmp_ps_mask(a, b, _CMP_LT_OQ); }
HZ_FN V select(Mask m, V yes, V no) { return _mm512_mask_blend_ps(m, no, yes); }

HZ_FN VI load_i(const int32_t* p) { return _mm512_loadu_si512(p); }
HZ_FN void store_i(int32_t* p, VI v) { _mm512_storeu_si512(p, v); }
HZ_FN VI set1_i(int32_t i) { return _mm512_set1_epi32(i); }
HZ_FN VI add_i(VI a, VI b) { return _mm512_add_epi32(a, b); }
HZ_FN VI sub_i(VI a, VI b) { return _mm512_sub_epi32(a, b); }
HZ_FN VI shl_by(VI a, int n) { return _mm512_sll_epi32(a, _mm_cvtsi32_si128(n)); }
HZ_FN VI shr_by(VI a, int n) { return _mm512_srl_epi32(a, _mm_cvtsi32_si128(n)); }
HZ_FN VI sign_i(VI a) { return _mm512_srai_epi32(a, 31); }
HZ_FN VI load_u16(const uint16_t* p) { return _mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i*)p)); }
HZ_FN VI mul_i(VI a, VI b) { return _mm512_mullo_epi32(a, b); }
HZ_FN V to_float(VI a) { return _mm512_cvtepi32_ps(a); }
HZ_FN VI to_int(V a) { return _mm512_cvtps_epi32(a); }
HZ_FN V pow2(VI n) { return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_add_epi32(n, _mm512_set1_epi32(127)), 23)); }
HZ_FN V bits(VI n) { return _mm512_castsi512_ps(n); }
HZ_FN VI bits_i(V v) { return _mm512_castps_si512(v); }
HZ_FN VI and_i(VI a, VI b) { return _mm512_and_si512(a, b); }
HZ_FN VI or_i(VI a, VI b) { return _mm512_or_si512(a, b); }
HZ_FN VI max_i(VI a, VI b) { return _mm512_max_epi32(a, b); }
template <int N> HZ_FN VI shr_i(VI a) { return _mm512_srli_epi32(a, N); }
template <int N> HZ_FN VI shl_i(VI a) { return _mm512_slli_epi32(a, N); }
HZ_FN VI load_u8(const uint8_t* p) { return _mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i*)p)); }
HZ_FN VI load_i8(const int8_t* p) { return _mm512_cvtepi8_epi32(_mm_loadu_si128((const __m128i*)p)); }
HZ_FN void store_i8(int8_t* p, V v) { _mm_storeu_si128((__m128i*)p, _mm512_cvtepi32_epi8(_mm512_cvtps_epi32(v))); }
HZ_FN void join(const Halves& a, const Halves& b, VI& first, VI& second) {
  first = _mm512_inserti64x4(_mm512_castsi256_si512(a.first), b.first, 1);
  second = _mm512_inserti64x4(_mm512_castsi256_si512(a.second), b.second, 1);
}
HZ_FN void dot32_rows(const int8_t* w, size_t stride, const int8_t* x, VI& first, VI& second) {
  join(dot32_eight(w, stride, load_bytes(x)), dot32_eight(w + 8 * stride, stride, load_bytes(x)), first, second);
}
template <bool kShifted>
HZ_FN void dot32_points_rows(const int8_t* points, size_t stride, const uint32_t* signs, size_t words, const int8_t* x, VI& first,
                             VI& second) {
  const __m256i xv = load_bytes(x);
  join(dot32_eight_points<kShifted>(points, stride, signs, words, xv),
       dot32_eight_points<kShifted>(points + 8 * stride, stride, signs + 8 * words, words, xv), first, second);
}
HZ_FN int32_t sum_i(VI a) { return _mm512_reduce_add_epi32(a); }

HZ_FN float tree_add(const V* v) {
  const __m256 h = _mm256_add_ps(_mm512_castps512_ps256(v[0]), _mm512_extractf32x8_ps(v[0], 1));
  __m128 q = _mm_add_ps(_mm256_castps256_ps128(h), _mm256_extractf128_ps(h, 1));
  q = _mm_add_ps(q, _mm_movehl_ps(q, q));
  return _mm_cvtss_f32(_mm_add_ss(q, _mm_movehdup_ps(q)));
}
HZ_FN float lane_max(V v) { return _mm512_reduce_max_ps(v); }
HZ_FN int32_t lane_max_i(VI v) { return _mm512_reduce_max_epi32(v); }

using Codes = __m512i;
HZ_FN Codes load_codes(const uint8_t* p) { return _mm512_loadu_si512(p); }
HZ_FN void store_codes(uint8_t* p, Codes c) { _mm512_storeu_si512(p, c); }
template <int Shift> HZ_FN Codes shr_codes(Codes c) { return _mm512_srli_epi16(c, Shift); }
template <int Shift> HZ_FN Codes shl_codes(Codes c) { return _mm512_slli_epi16(c, Shift); }
HZ_FN Codes and_codes(Codes c, int byte) { return _mm512_and_si512(c, _mm512_set1_epi8((char)byte)); }
HZ_FN Codes or_codes(Codes a, Codes b) { return _mm512_or_si512(a, b); }
HZ_FN Codes lookup_codes(Codes c, const uint8_t* table) {
  return _mm512_shuffle_epi8(_mm512_broadcast_i32x4(_mm_loadu_si128((const __m128i*)table)), c);
}

HZ_FN VI code_lanes(Codes c) { return c; }  // the four bytes of a row as one integer
// Codes times a scale of their row and an offset added, which makes bytes of the products again: so the four codes may be taken as one
// integer or two, whose bytes borrow from one another only on the way.
HZ_FN VI code_factor(VI scale) { return or_i(and_i(scale, set1_i(0xffff)), shl_i<16>(scale)); }
HZ_FN Codes scaled_codes(Codes c, VI factor, VI offset) { return _mm512_add_epi16(_mm512_mullo_epi16(c, factor), offset); }
HZ_FN void prefetch(const void* p) { _mm_prefetch((const char*)p, _MM_HINT_T0); }

template <int Top>
struct Dot {
  VI acc;
  HZ_FN Dot start(int32_t v) { return {_mm512_set1_epi32(v)}; }
  template <int Step> void step(Codes w, const int8_t* x) {
    int32_t four;
    memcpy(&four, x, 4);
    acc = _mm512_dpbusd_epi32(acc, w, _mm512_set1_epi32(four));
  }
  VI finish(int32_t) const { return acc; }
};

// Two scales of int16 beside one another, each for sixteen columns.
struct ScalePair {
  VI both;
};
HZ_FN ScalePair scale_pair(VI s0, VI s1) { return {_mm512_mask_blend_epi16(0xaaaaaaaa, s0, _mm512_slli_epi32(s1, 16))}; }
HZ_FN VI pair_products(const ScalePair& s, const int16_t* sums) {
  int32_t two;
  memcpy(&two, sums, 4);
  return _mm512_madd_epi16(s.both, _mm512_set1_epi32(two));
}

struct SubScales {
  V first, second;
};
HZ_FN SubScales sub_scales(VI s0, VI s1, int) { return {to_float(s0), to_float(s1)}; }

// sub_dot.hpp in floats: a product of int32 is two instructions on one port. A half's dot times its scale is below 2^24, so exact; the
// fma then rounds the exact sum of both once, as a conversion of the integer would.
template <int Top>
struct SubDot {
  Dot<Top> dot;
  V sum;

  HZ_FN SubDot start(const SubScales&, const int16_t*, const int32_t* start) { return {Dot<Top>::start(start[0]), set1(0.0f)}; }
  template <int Step, int> void step(Codes w, const int8_t* x, const SubScales&) { dot.template step<Step>(w, x); }
  template <int Half> void end(const SubScales& s, const int32_t* start) {
    if constexpr (Half == 0) {
      sum = mul(to_float(dot.finish(start[0])), s.first);
      dot = Dot<Top>::start(start[1]);
    } else {
      sum = fma(to_float(dot.finish(start[1])), s.second, sum);
    }
  }
  V value() const { return sum; }
};

}  // namespace HZ_UNIT
}  // namespace hz::cpu
