// SPDX-License-Identifier: Apache-2.0
// Lane primitives, AVX2 with FMA and F16C: eight lanes.
#pragma once
#include <immintrin.h>
#include <stdint.h>
#include <string.h>

#include "hanzo/quant/format/portable.h"
#include "kernels/cpu/dot32.hpp"

namespace hz::cpu {
inline namespace HZ_UNIT {

constexpr int kLanes = 8;
using V = __m256;
using VI = __m256i;
using Mask = __m256;

HZ_FN __m256i first_lanes(int n) {
  return _mm256_cmpgt_epi32(_mm256_set1_epi32(n), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}
HZ_FN V load(const float* p) { return _mm256_loadu_ps(p); }
HZ_FN void store(float* p, V v) { _mm256_storeu_ps(p, v); }
HZ_FN V load_first(const float* p, int n, float fill) {
  const __m256i m = first_lanes(n);
  return _mm256_blendv_ps(_mm256_set1_ps(fill), _mm256_maskload_ps(p, m), _mm256_castsi256_ps(m));
}
HZ_FN void store_first(float* p, V v, int n) { _mm256_maskstore_ps(p, first_lanes(n), v); }
HZ_FN V load_half(const uint16_t* p) { return _mm256_cvtph_ps(_mm_loadu_si128((const __m128i*)p)); }
HZ_FN V load_bf16(const uint16_t* p) {
  return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i*)p)), 16));
}
HZ_FN void store_half(uint16_t* p, V v) { _mm_storeu_si128((__m128i*)p, _mm256_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT)); }
HZ_FN V set1(float f) { return _mm256_set1_ps(f); }
HZ_FN V add(V a, V b) { return _mm256_add_ps(a, b); }
HZ_FN V sub(V a, V b) { return _mm256_sub_ps(a, b); }
HZ_FN V mul(V a, V b) { return _mm256_mul_ps(a, b); }
HZ_FN V div(V a, V b) { return _mm256_div_ps(a, b); }
HZ_FN V fma(V a, V b, V c) { return _mm256_fmadd_ps(a, b, c); }
HZ_FN V max(V a, V b) { return _mm256_max_ps(a, b); }
HZ_FN V neg(V a) { return _mm256_xor_ps(a, _mm256_set1_ps(-0.0f)); }
HZ_FN V abs(V a) { return _mm256_andnot_ps(_mm256_set1_ps(-0.0f), a); }
HZ_FN V sqrt(V a) { return _mm256_sqrt_ps(a); }
HZ_FN V round_even(V a) { return _mm256_round_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }
HZ_FN Mask less(V a, V b) { return _mm256_cmp_ps(a, b, _CMP_LT_OQ); }
HZ_FN V select(Mask m, V yes, V no) { return _mm256_blendv_ps(no, yes, m); }

HZ_FN VI load_i(const int32_t* p) { return _mm256_loadu_si256((const __m256i*)p); }
HZ_FN void store_i(int32_t* p, VI v) { _mm256_storeu_si256((__m256i*)p, v); }
HZ_FN VI set1_i(int32_t i) { return _mm256_set1_epi32(i); }
HZ_FN VI add_i(VI a, VI b) { return _mm256_add_epi32(a, b); }
HZ_FN VI sub_i(VI a, VI b) { return _mm256_sub_epi32(a, b); }
HZ_FN VI shl_by(VI a, int n) { return _mm256_sll_epi32(a, _mm_cvtsi32_si128(n)); }
HZ_FN VI shr_by(VI a, int n) { return _mm256_srl_epi32(a, _mm_cvtsi32_si128(n)); }
HZ_FN VI sign_i(VI a) { return _mm256_srai_epi32(a, 31); }
HZ_FN VI load_u16(const uint16_t* p) { return _mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i*)p)); }
HZ_FN VI mul_i(VI a, VI b) { return _mm256_mullo_epi32(a, b); }
HZ_FN V to_float(VI a) { return _mm256_cvtepi32_ps(a); }
HZ_FN VI to_int(V a) { return _mm256_cvtps_epi32(a); }
HZ_FN V pow2(VI n) { return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_add_epi32(n, _mm256_set1_epi32(127)), 23)); }
HZ_FN V bits(VI n) { return _mm256_castsi256_ps(n); }
HZ_FN VI bits_i(V v) { return _mm256_castps_si256(v); }
HZ_FN VI and_i(VI a, VI b) { return _mm256_and_si256(a, b); }
HZ_FN VI or_i(VI a, VI b) { return _mm256_or_si256(a, b); }
HZ_FN VI max_i(VI a, VI b) { return _mm256_max_epi32(a, b); }
template <int N> HZ_FN VI shr_i(VI a) { return _mm256_srli_epi32(a, N); }
template <int N> HZ_FN VI shl_i(VI a) { return _mm256_slli_epi32(a, N); }
HZ_FN VI load_u8(const uint8_t* p) { return _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i*)p)); }
HZ_FN VI load_i8(const int8_t* p) { return _mm256_cvtepi8_epi32(_mm_loadl_epi64((const __m128i*)p)); }
HZ_FN void store_i8(int8_t* p, V v) {
  const __m256i i = _mm256_cvtps_epi32(v);
  const __m128i w = _mm_packs_epi32(_mm256_castsi256_si128(i), _mm256_extracti128_si256(i, 1));
  _mm_storel_epi64((__m128i*)p, _mm_packs_epi16(w, w));
}
HZ_FN void dot32_rows(const int8_t* w, size_t stride, const int8_t* x, VI& first, VI& second) {
  const Halves h = dot32_eight(w, stride, load_bytes(x));
  first = h.first;
  second = h.second;
}
template <bool kShifted>
HZ_FN void dot32_points_rows(const int8_t* points, size_t stride, const uint32_t* signs, size_t words, const int8_t* x, VI& first,
                             VI& second) {
  const Halves h = dot32_eight_points<kShifted>(points, stride, signs, words, load_bytes(x));
  first = h.first;
  second = h.second;
}
HZ_FN int32_t sum_i(VI a) {
  __m128i h = _mm_add_epi32(_mm256_castsi256_si128(a), _mm256_extracti128_si256(a, 1));
  h = _mm_add_epi32(h, _mm_shuffle_epi32(h, 0x4e));
  return _mm_cvtsi128_si32(_mm_add_epi32(h, _mm_shuffle_epi32(h, 0xb1)));
}

HZ_FN float tree_add(const V* v) {
  const __m256 h = _mm256_add_ps(v[0], v[1]);
  __m128 q = _mm_add_ps(_mm256_castps256_ps128(h), _mm256_extractf128_ps(h, 1));
  q = _mm_add_ps(q, _mm_movehl_ps(q, q));
  return _mm_cvtss_f32(_mm_add_ss(q, _mm_movehdup_ps(q)));
}
HZ_FN float lane_max(V v) {
  __m128 m = _mm_max_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
  m = _mm_max_ps(m, _mm_movehl_ps(m, m));
  return _mm_cvtss_f32(_mm_max_ss(m, _mm_movehdup_ps(m)));
}
HZ_FN int32_t lane_max_i(VI v) {
  __m128i m = _mm_max_epi32(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
  m = _mm_max_epi32(m, _mm_shuffle_epi32(m, 0x4e));
  return _mm_cvtsi128_si32(_mm_max_epi32(m, _mm_shuffle_epi32(m, 0xb1)));
}

using Codes = __m256i;
HZ_FN Codes load_codes(const uint8_t* p) { return _mm256_loadu_si256((const __m256i*)p); }
HZ_FN void store_codes(uint8_t* p, Codes c) { _mm256_storeu_si256((__m256i*)p, c); }
template <int Shift> HZ_FN Codes shr_codes(Codes c) { return _mm256_srli_epi16(c, Shift); }
template <int Shift> HZ_FN Codes shl_codes(Codes c) { return _mm256_slli_epi16(c, Shift); }
HZ_FN Codes and_codes(Codes c, int byte) { return _mm256_and_si256(c, _mm256_set1_epi8((char)byte)); }
HZ_FN Codes or_codes(Codes a, Codes b) { return _mm256_or_si256(a, b); }
HZ_FN Codes lookup_codes(Codes c, const uint8_t* table) {
  return _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i*)table)), c);
}

HZ_FN VI code_lanes(Codes c) { return c; }  // the four bytes of a row as one integer
// Codes times a scale of their row and an offset added, which makes bytes of the products again: so the four codes may be taken as one
// integer or two, whose bytes borrow from one another only on the way.
HZ_FN VI code_factor(VI scale) { return or_i(and_i(scale, set1_i(0xffff)), shl_i<16>(scale)); }
HZ_FN Codes scaled_codes(Codes c, VI factor, VI offset) { return _mm256_add_epi16(_mm256_mullo_epi16(c, factor), offset); }
HZ_FN void prefetch(const void* p) { _mm_prefetch((const char*)p, _MM_HINT_T0); }

HZ_FN __m256i four_codes(const int8_t* x) {
  int32_t four;
  memcpy(&four, x, 4);
  return _mm256_set1_epi32(four);
}
HZ_FN __m256i add_pairs(__m256i sum, __m256i pairs, __m256i factor) { return _mm256_add_epi32(sum, _mm256_madd_epi16(pairs, factor)); }

// maddubs results of codes up to Top that one int16 holds.
template <int Top>
constexpr int kNarrow = 32767 / (2 * 127 * (Top > 0 ? Top : 1));

// Pairs of products are summed in int16 for as long as they cannot saturate, then widened. The start value joins at the end:
// registers are short here. An empty asm keeps sums in registers: left alone, GCC computes all products first and spills them.
template <int Top>
struct Dot {
  static constexpr bool kWide = kNarrow<Top> < 8;  // eight results do not fit
  static_assert(kNarrow<Top> >= 1);
  __m256i low, wide;

  HZ_FN Dot start(int32_t) { return {_mm256_setzero_si256(), _mm256_setzero_si256()}; }
  template <int Step> void step(Codes w, const int8_t* x) {
    const __m256i p = _mm256_maddubs_epi16(w, four_codes(x));
    low = Step % kNarrow<Top> == 0 ? p : _mm256_add_epi16(low, p);
    if constexpr (kWide && Step % kNarrow<Top> == kNarrow<Top> - 1) {
      wide = add_pairs(wide, low, _mm256_set1_epi16(1));
      low = _mm256_setzero_si256();
      asm("" : "+x"(wide));
    }
    asm("" : "+x"(low));
  }
  VI finish(int32_t start) const {
    const __m256i r = add_pairs(_mm256_set1_epi32(start), low, _mm256_set1_epi16(1));
    return kWide ? _mm256_add_epi32(r, wide) : r;
  }
};

// Codes above 128 are 128 + weight (format_traits.hpp): |weight| meets the activation with its sign. The start value, -128 times the
// sum of the activations, is what the codes carry too much, so that it is not needed.
template <int Top>
  requires(Top > 128)
struct Dot<Top> {
  __m256i wide;

  HZ_FN Dot start(int32_t) { return {_mm256_setzero_si256()}; }
  template <int> void step(Codes w, const int8_t* x) {
    const __m256i weight = _mm256_xor_si256(w, _mm256_set1_epi8((char)128));
    const __m256i p = _mm256_maddubs_epi16(_mm256_abs_epi8(weight), _mm256_sign_epi8(four_codes(x), weight));
    wide = add_pairs(wide, p, _mm256_set1_epi16(1));
    asm("" : "+x"(wide));
  }
  VI finish(int32_t) const { return wide; }
};

// Two scales of int16, each for sixteen columns: as factors of pairs of products, and beside one another.
struct ScalePair {
  __m256i first, second, both;
};
HZ_FN ScalePair scale_pair(VI s0, VI s1) {
  const __m256i ones = _mm256_set1_epi32(0xffff), a = _mm256_and_si256(s0, ones), b = _mm256_and_si256(s1, ones);
  return {_mm256_or_si256(a, _mm256_slli_epi32(s0, 16)), _mm256_or_si256(b, _mm256_slli_epi32(s1, 16)),
          _mm256_or_si256(a, _mm256_slli_epi32(s1, 16))};
}
HZ_FN VI pair_products(const ScalePair& s, const int16_t* sums) {
  int32_t two;
  memcpy(&two, sums, 4);
  return _mm256_madd_epi16(s.both, _mm256_set1_epi32(two));
}

// Scales of the two halves of a block, and what its codes are counted from: low times them.
struct SubScales {
  ScalePair scales, offsets;
  int low;
};
HZ_FN SubScales sub_scales(VI s0, VI s1, int low) {
  return {scale_pair(s0, s1), scale_pair(mul_i(s0, set1_i(low)), mul_i(s1, set1_i(low))), low};
}

// sub_dot.hpp for a set that multiplies int16 pairs: the scale is the factor of the widening.
template <int Top>
struct SubDot {
  static constexpr int kPairs = kNarrow<Top> < 4 ? kNarrow<Top> : 4;
  __m256i low, whole;

  HZ_FN SubDot start(const SubScales& s, const int16_t* sums, const int32_t*) {
    return {_mm256_setzero_si256(), s.low != 0 ? pair_products(s.offsets, sums) : _mm256_setzero_si256()};
  }
  template <int Step, int Half> void step(Codes w, const int8_t* x, const SubScales& s) {
    const __m256i p = _mm256_maddubs_epi16(w, four_codes(x));
    low = Step % kPairs == 0 ? p : _mm256_add_epi16(low, p);
    if constexpr (Step % kPairs == kPairs - 1 || Step == 3) {
      whole = add_pairs(whole, low, Half == 0 ? s.scales.first : s.scales.second);
      asm("" : "+x"(whole));
    } else {
      asm("" : "+x"(low));
    }
  }
  template <int> void end(const SubScales&, const int32_t*) {}
  V value() const { return to_float(whole); }
};

}  // namespace HZ_UNIT
}  // namespace hz::cpu
