// SPDX-License-Identifier: Apache-2.0
// Lane primitives that AVX2 and AVX-512 share: 32 products of int8 in each of eight rows.
#pragma once
#include <immintrin.h>
#include <stddef.h>
#include <stdint.h>

#include "hanzo/quant/format/portable.h"

namespace hz::cpu {
inline namespace HZ_UNIT {

// Sums of the first and second sixteen products of rows 0..7.
struct Halves {
  __m256i first, second;
};

HZ_FN __m256i load_bytes(const void* p) { return _mm256_loadu_si256((const __m256i*)p); }

// Eight sums of four products of an unsigned and a signed byte; two products are at most 2 * 128 * 127, which int16 holds.
HZ_FN __m256i sum_fours(__m256i u, __m256i s) { return _mm256_madd_epi16(_mm256_maddubs_epi16(u, s), _mm256_set1_epi16(1)); }

HZ_FN __m256i sum_rows(const __m256i* p) {  // of four rows: their first halves, then their second
  return _mm256_hadd_epi32(_mm256_hadd_epi32(p[0], p[1]), _mm256_hadd_epi32(p[2], p[3]));
}
HZ_FN Halves sum_eight_rows(const __m256i* p) {
  const __m256i a = sum_rows(p), b = sum_rows(p + 4);
  return {_mm256_permute2x128_si256(a, b, 0x20), _mm256_permute2x128_si256(a, b, 0x31)};
}

// |w| as the unsigned operand and x with w's sign. w [8][stride].
HZ_FN Halves dot32_eight(const int8_t* w, size_t stride, __m256i x) {
  __m256i p[8];
  for (size_t r = 0; r < 8; ++r) {
    const __m256i wv = load_bytes(w + r * stride);
    p[r] = sum_fours(_mm256_abs_epi8(wv), _mm256_sign_epi8(x, wv));
  }
  return sum_eight_rows(p);
}

// Byte k all ones where bit k of `signs` is set.
HZ_FN __m256i minus_bytes(uint32_t signs) {
  const __m256i bit = _mm256_set1_epi64x((long long)0x8040201008040201u);
  const __m256i which = _mm256_setr_epi64x(0, 0x0101010101010101, 0x0202020202020202, 0x0303030303030303);
  return _mm256_cmpeq_epi8(_mm256_and_si256(_mm256_shuffle_epi8(_mm256_set1_epi32((int)signs), which), bit), bit);
}

// The same for points of a codebook (quant/format/portable.h) and their signs, one word a row, `words` apart.
template <bool kShifted>
HZ_FN Halves dot32_eight_points(const int8_t* points, size_t stride, const uint32_t* signs, size_t words, __m256i x) {
  __m256i p[8];
  for (size_t r = 0; r < 8; ++r) {
    const __m256i minus = minus_bytes(signs[r * words]), v = load_bytes(points + r * stride);
    if constexpr (kShifted) {
      const __m256i eights = _mm256_and_si256(_mm256_slli_epi16(v, 3), _mm256_set1_epi8((char)0xf8));
      const __m256i w = _mm256_add_epi8(eights, _mm256_or_si256(minus, _mm256_set1_epi8(1)));  // + 1 or - 1
      p[r] = sum_fours(_mm256_abs_epi8(w), _mm256_sign_epi8(x, w));
    } else {
      p[r] = sum_fours(v, _mm256_sub_epi8(_mm256_xor_si256(x, minus), minus));
    }
  }
  return sum_eight_rows(p);
}

}  // namespace HZ_UNIT
}  // namespace hz::cpu
