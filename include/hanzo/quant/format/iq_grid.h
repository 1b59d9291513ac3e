// SPDX-License-Identifier: Apache-2.0
// The codebooks of the IQ formats, ready to index: eight (four) magnitudes a point, one a byte, lowest first.
#pragma once
#include "hanzo/quant/format/expanded.h"
#include "hanzo/quant/format/iq_points.h"

namespace hz::quant {
inline namespace HZ_UNIT {

static constexpr uint64_t kBytes1 = 0x0101010101010101u;

// Four base-3 digits of p (0..80), one a byte.
constexpr uint32_t ternary_digits4(uint32_t p) {
  return p % 3 | (p / 3 % 3) << 8 | (p / 9 % 3) << 16 | (p / 27) << 24;
}
constexpr Table<uint32_t, 81> ternary_digits4_table() {
  Table<uint32_t, 81> t{};
  for (uint32_t p = 0; p < 81; ++p) t.at[p] = ternary_digits4(p);
  return t;
}
static constexpr Table<uint32_t, 81> kTernaryDigits4 = ternary_digits4_table();

// Levels 0 1 2 as the magnitudes 8 25 43.
constexpr uint64_t iq2_magnitudes(uint64_t levels) { return 8 * kBytes1 + 17 * levels + ((levels >> 1) & kBytes1); }
// Levels 0 1 2 as the values -1 0 1, two's complement.
constexpr uint64_t ternary_values(uint64_t levels) { return (levels + 0x7f * kBytes1) ^ (0x80 * kBytes1); }
// Octal digits 0..7 as the magnitudes 4 12 20 28 36 44 52 62.
constexpr uint32_t iq3_xxs_magnitudes(uint32_t levels) {
  return 0x04040404u + 8 * levels + 2 * (levels & levels >> 1 & levels >> 2 & 0x01010101u);
}
// Octal digits 0..7 as the magnitudes 1 3 5 7 9 11 13 15.
constexpr uint32_t iq3_s_magnitudes(uint32_t levels) { return 0x01010101u + 2 * levels; }

// The points of a set in order, as bytes.
template <int N>
constexpr Table<uint64_t, N> expand(const TernarySet& set, uint64_t (*as_bytes)(uint64_t)) {
  Table<uint64_t, N> grid{};
  int n = 0;
  for (uint32_t word = 0; word < 103; ++word)
    for (uint64_t bits = set.at[word]; bits != 0; bits &= bits - 1) {
      const uint32_t p = 64 * word + (uint32_t)__builtin_ctzll(bits);
      grid.at[n++] = as_bytes(kTernaryDigits4.at[p % 81] | (uint64_t)kTernaryDigits4.at[p / 81] << 32);
    }
  return grid;
}
template <int N>
constexpr Table<uint32_t, N> expand(const OctalSet& set, uint32_t (*as_bytes)(uint32_t)) {
  Table<uint32_t, N> grid{};
  int n = 0;
  for (uint32_t word = 0; word < 64; ++word)
    for (uint64_t bits = set.at[word]; bits != 0; bits &= bits - 1) {
      const uint32_t p = 64 * word + (uint32_t)__builtin_ctzll(bits);
      grid.at[n++] = as_bytes((p & 7) | (p >> 3 & 7) << 8 | (p >> 6 & 7) << 16 | (p >> 9) << 24);
    }
  return grid;
}

// The magnitudes of the weights, ascending.
using Magnitudes3 = Table<int8_t, 3>;
using Magnitudes8 = Table<int8_t, 8>;
HZ_TABLE(Magnitudes3, iq1_weights, {{1, 7, 9}})
HZ_TABLE(Magnitudes3, iq2_weights, {{8, 25, 43}})
HZ_TABLE(Magnitudes8, iq3_xxs_weights, {{4, 12, 20, 28, 36, 44, 52, 62}})
HZ_TABLE(Magnitudes8, iq3_s_weights, {{1, 3, 5, 7, 9, 11, 13, 15}})

using Grid8x256 = Table<uint64_t, 256>;
using Grid8x512 = Table<uint64_t, 512>;
using Grid8x1024 = Table<uint64_t, 1024>;
using Grid8x2048 = Table<uint64_t, 2048>;
using Grid4x256 = Table<uint32_t, 256>;
using Grid4x512 = Table<uint32_t, 512>;
HZ_TABLE(Grid8x256, iq2_xxs_grid, expand<256>(kIq2XxsPoints, iq2_magnitudes))
HZ_TABLE(Grid8x512, iq2_xs_grid, expand<512>(kIq2XsPoints, iq2_magnitudes))
HZ_TABLE(Grid8x1024, iq2_s_grid, expand<1024>(kIq2SPoints, iq2_magnitudes))
HZ_TABLE(Grid8x2048, iq1_grid, expand<2048>(kIq1Points, ternary_values))
HZ_TABLE(Grid4x256, iq3_xxs_grid, expand<256>(kIq3XxsPoints, iq3_xxs_magnitudes))
HZ_TABLE(Grid4x512, iq3_s_grid, expand<512>(kIq3SPoints, iq3_s_magnitudes))

// Four times seven stored signs, 28 bits, as 32: each eighth makes the number of minus signs of its byte even.
HZ_FN uint32_t even_signs(uint32_t seven4) {
  const uint32_t spread = (seven4 & 0x7f) | (seven4 & 0x3f80) << 1 | (seven4 & 0x1fc000) << 2 | (seven4 & 0xfe00000) << 3;
  uint32_t parity = spread ^ spread >> 4;
  parity ^= parity >> 2;
  parity ^= parity >> 1;  // bit 0 of each byte
  return spread | (parity & 0x01010101u) << 7;
}

// Times which bit i of eight comes to bit 8.
using Eight = Table<uint16_t, 8>;
HZ_TABLE(Eight, to_ninth_bit, {{256, 128, 64, 32, 16, 8, 4, 2}})

// Four bytes as four words of sixteen bits.
HZ_FN uint64_t spread_bytes(uint32_t four) {
  uint64_t x = four;
  x = (x | x << 16) & 0x0000ffff0000ffffu;
  return (x | x << 8) & 0x00ff00ff00ff00ffu;
}
HZ_FN void store_words(uint16_t* out, uint64_t four) { __builtin_memcpy(out, &four, 8); }
HZ_FN uint64_t load_words(const uint16_t* p) {
  uint64_t four;
  __builtin_memcpy(&four, p, 8);
  return four;
}

// Negates byte k of `points` (each 1..127) where bit k of `signs` is set.
HZ_FN uint64_t apply_signs(uint64_t points, uint32_t signs) {
  const uint64_t bits = (signs * kBytes1) & 0x8040201008040201u;
  const uint64_t minus = ((bits + 0x7f * kBytes1) >> 7) & kBytes1;
  return (points ^ minus * 255) + minus;
}

// out[32] = four points of eight magnitudes (each 1..127, lowest byte first), weight k negated where bit k of `signs` is set.
HZ_FN void signed_points(uint64_t p0, uint64_t p1, uint64_t p2, uint64_t p3, uint32_t signs, int8_t* out) {
#if defined(__AVX2__) && !defined(__CUDA_ARCH__)
  const __m256i bit = _mm256_set1_epi64x((long long)0x8040201008040201u), eight = _mm256_set1_epi64x((long long)kBytes1);
  const __m256i of_weight = _mm256_mul_epu32(_mm256_setr_epi64x(0, 1, 2, 3), eight);  // 0 0 0 0 1 1 1 1 ..., low halves
  const __m256i which = _mm256_or_si256(of_weight, _mm256_slli_epi64(of_weight, 32));
  const __m256i spread = _mm256_shuffle_epi8(_mm256_set1_epi32((int)signs), which);
  const __m256i minus = _mm256_cmpeq_epi8(_mm256_and_si256(spread, bit), bit);
  const __m256i points = _mm256_set_epi64x((long long)p3, (long long)p2, (long long)p1, (long long)p0);
  _mm256_storeu_si256((__m256i*)out, _mm256_sub_epi8(_mm256_xor_si256(points, minus), minus));
#else
  store8(out, apply_signs(p0, signs & 255));
  store8(out + 8, apply_signs(p1, signs >> 8 & 255));
  store8(out + 16, apply_signs(p2, signs >> 16 & 255));
  store8(out + 24, apply_signs(p3, signs >> 24));
#endif
}

// out[8] = 8 * (point of the IQ1 codebook, each -1 0 1) + shift, which is 1 or -1.
HZ_FN void shifted_point(int point, int shift, int8_t* out) {
  constexpr uint64_t top = 0x80 * kBytes1;
  const uint64_t eights = (iq1_grid().at[point] << 3) & 0xf8 * kBytes1;
  store8(out, shift > 0 ? eights + kBytes1 : ((eights | top) - kBytes1) ^ (~eights & top));  // no byte carries into the next
}

// codes(b, j) of a codebook format: its points of the group, signed or shifted.
template <class W>
HZ_FN void codebook_codes(const typename W::Block& b, int j, int8_t* out) {
  uint16_t at[W::kStep / W::kPoint];
  W::points(b, j, at);
  const uint32_t signs = W::signs(b, j);
  const auto& grid = W::grid().at;
  if constexpr (W::kShifted) {
    for (int i = 0; i < 4; ++i) shifted_point(at[i], signs >> (8 * i) & 1 ? -1 : 1, out + 8 * i);
  } else if constexpr (W::kPoint == 8) {
    signed_points(grid[at[0]], grid[at[1]], grid[at[2]], grid[at[3]], signs, out);
  } else {
    uint64_t two[4];
    for (int i = 0; i < 4; ++i) two[i] = grid[at[2 * i]] | (uint64_t)grid[at[2 * i + 1]] << 32;
    signed_points(two[0], two[1], two[2], two[3], signs, out);
  }
}

}  // namespace HZ_UNIT
}  // namespace hz::quant
