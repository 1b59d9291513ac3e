// SPDX-License-Identifier: Apache-2.0
// A lane primitive that AVX2 and AVX-512 share: products of int8 along a row.
#pragma once
#include <immintrin.h>
#include <stdint.h>

#include "hanzo/quant/format/portable.h"

namespace hz::cpu {
inline namespace HZ_UNIT {

// Four groups of 32 products, the sums of their first and second sixteen. |w| as the unsigned operand and x with w's sign:
// two products are at most 2 * 128 * 127, which int16 holds.
HZ_FN void dot32x4(const int8_t* w, const int8_t* x, int32_t* first, int32_t* second) {
  const __m256i ones = _mm256_set1_epi16(1);
  __m256i p[4];
  for (int i = 0; i < 4; ++i) {
    const __m256i wv = _mm256_loadu_si256((const __m256i*)(w + 32 * i)), xv = _mm256_loadu_si256((const __m256i*)(x + 32 * i));
    p[i] = _mm256_madd_epi16(_mm256_maddubs_epi16(_mm256_abs_epi8(wv), _mm256_sign_epi8(xv, wv)), ones);
  }
  const __m256i sums = _mm256_hadd_epi32(_mm256_hadd_epi32(p[0], p[1]), _mm256_hadd_epi32(p[2], p[3]));
  _mm_storeu_si128((__m128i*)first, _mm256_castsi256_si128(sums));
  _mm_storeu_si128((__m128i*)second, _mm256_extracti128_si256(sums, 1));
}

}  // namespace HZ_UNIT
}  // namespace hz::cpu
