// SPDX-License-Identifier: Apache-2.0
// Sixteen float lanes: the searches try sixteen candidates at a time. Only element-wise IEEE operations, so that every
// instruction set computes the same bits; a sum over elements is one ascending chain in each lane.
#pragma once
#include <cstdint>
#include <cstring>

#include "hanzo/quant/format/portable.h"
#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace hz::quant {
inline namespace HZ_UNIT {

#if defined(__AVX512F__)
inline constexpr int kVecFloats = 16;
#elif defined(__AVX2__)
inline constexpr int kVecFloats = 8;
#else
inline constexpr int kVecFloats = 4;
#endif
inline constexpr int kLanes = 16, kVecs = kLanes / kVecFloats;

#define HZ_LANES static inline __attribute__((always_inline))

typedef float Vec __attribute__((vector_size(4 * kVecFloats)));
typedef std::int32_t IntVec __attribute__((vector_size(4 * kVecFloats)));

struct Lanes {
  Vec v[kVecs];
};
struct Mask {
  IntVec v[kVecs];
};

HZ_LANES Lanes all(float f) {
  Lanes r;
  for (int i = 0; i < kVecs; ++i) r.v[i] = f - Vec{};  // f + Vec{} would make +0 of -0
  return r;
}
// a in the first eight lanes, b in the others.
HZ_LANES Lanes halves(float a, float b) {
  Lanes r;
#if defined(__AVX512F__)
  r.v[0] = reinterpret_cast<Vec>(_mm512_mask_blend_ps(0xff00, _mm512_set1_ps(a), _mm512_set1_ps(b)));
#else
  for (int i = 0; i < kVecs; ++i) r.v[i] = (i < kVecs / 2 ? a : b) - Vec{};
#endif
  return r;
}
HZ_LANES Lanes load(const float* p) {
  Lanes r;
  std::memcpy(&r, p, sizeof r);
  return r;
}
HZ_LANES void store(float* p, const Lanes& a) { std::memcpy(p, &a, sizeof a); }

#define HZ_LANES_OP(op)                                               \
  HZ_LANES Lanes operator op(const Lanes& a, const Lanes& b) {        \
    Lanes r;                                                          \
    for (int i = 0; i < kVecs; ++i) r.v[i] = a.v[i] op b.v[i];        \
    return r;                                                         \
  }                                                                   \
  HZ_LANES Lanes operator op(const Lanes& a, float b) { return a op all(b); } \
  HZ_LANES Lanes operator op(float a, const Lanes& b) { return all(a) op b; }
HZ_LANES_OP(+)
HZ_LANES_OP(-)
HZ_LANES_OP(*)
HZ_LANES_OP(/)
#undef HZ_LANES_OP

HZ_LANES Mask operator<(const Lanes& a, const Lanes& b) {
  Mask r;
  for (int i = 0; i < kVecs; ++i) r.v[i] = a.v[i] < b.v[i];
  return r;
}
HZ_LANES Lanes select(const Mask& m, const Lanes& a, const Lanes& b) {
  Lanes r;
  for (int i = 0; i < kVecs; ++i) r.v[i] = m.v[i] ? a.v[i] : b.v[i];
  return r;
}
HZ_LANES Lanes least(const Lanes& a, const Lanes& b) { return select(b < a, b, a); }
HZ_LANES Lanes most(const Lanes& a, const Lanes& b) { return select(a < b, b, a); }
HZ_LANES Lanes clamp(const Lanes& a, float low, float high) { return least(most(a, all(low)), all(high)); }
HZ_LANES Lanes magnitude(const Lanes& a) { return most(a, all(0.0f) - a); }

inline constexpr float kRoundShift = 0x1.8p23f;  // pushes the fraction out of the mantissa; |a| < 2^22
HZ_LANES Lanes round_even(const Lanes& a) { return (a + kRoundShift) - kRoundShift; }
HZ_LANES float round_even(float a) { return (a + kRoundShift) - kRoundShift; }

// Bit i: lane i of a is below limit.
HZ_LANES unsigned lanes_below(const Lanes& a, float limit) {
  unsigned bits = 0;
#if defined(__AVX512F__)
  bits = _mm512_cmp_ps_mask(reinterpret_cast<__m512>(a.v[0]), _mm512_set1_ps(limit), _CMP_LT_OQ);
#elif defined(__AVX2__)
  for (int i = 0; i < kVecs; ++i)
    bits |= static_cast<unsigned>(_mm256_movemask_ps(_mm256_cmp_ps(reinterpret_cast<__m256>(a.v[i]), _mm256_set1_ps(limit), _CMP_LT_OQ)))
            << (8 * i);
#elif defined(__x86_64__)
  for (int i = 0; i < kVecs; ++i)
    bits |= static_cast<unsigned>(_mm_movemask_ps(_mm_cmplt_ps(reinterpret_cast<__m128>(a.v[i]), _mm_set1_ps(limit)))) << (4 * i);
#else
  for (int i = 0; i < kLanes; ++i) bits |= static_cast<unsigned>(a.v[i / kVecFloats][i % kVecFloats] < limit) << i;
#endif
  return bits;
}

// Bit i: lane i of a is not below lane i of b.
HZ_LANES unsigned lanes_reach(const Lanes& a, const Lanes& b) {
  unsigned bits = 0;
#if defined(__AVX512F__)
  bits = _mm512_cmp_ps_mask(reinterpret_cast<__m512>(a.v[0]), reinterpret_cast<__m512>(b.v[0]), _CMP_GE_OQ);
#elif defined(__AVX2__)
  for (int i = 0; i < kVecs; ++i)
    bits |= static_cast<unsigned>(
                _mm256_movemask_ps(_mm256_cmp_ps(reinterpret_cast<__m256>(a.v[i]), reinterpret_cast<__m256>(b.v[i]), _CMP_GE_OQ)))
            << (8 * i);
#elif defined(__x86_64__)
  for (int i = 0; i < kVecs; ++i)
    bits |= static_cast<unsigned>(_mm_movemask_ps(_mm_cmpge_ps(reinterpret_cast<__m128>(a.v[i]), reinterpret_cast<__m128>(b.v[i]))))
            << (4 * i);
#else
  for (int i = 0; i < kLanes; ++i)
    bits |= static_cast<unsigned>(a.v[i / kVecFloats][i % kVecFloats] >= b.v[i / kVecFloats][i % kVecFloats]) << i;
#endif
  return bits;
}

// The first lane of the largest value, of numbers.
HZ_LANES int argmax(const Lanes& a) {
  float f[4];
#if defined(__AVX512F__)
  const __m512 v = reinterpret_cast<__m512>(a.v[0]);
  const __m256 halves = _mm256_max_ps(_mm512_castps512_ps256(v), _mm512_extractf32x8_ps(v, 1));
  _mm_storeu_ps(f, _mm_max_ps(_mm256_castps256_ps128(halves), _mm256_extractf128_ps(halves, 1)));
#elif defined(__AVX2__)
  const __m256 halves = _mm256_max_ps(reinterpret_cast<__m256>(a.v[0]), reinterpret_cast<__m256>(a.v[1]));
  _mm_storeu_ps(f, _mm_max_ps(_mm256_castps256_ps128(halves), _mm256_extractf128_ps(halves, 1)));
#else
  const Vec pairs[2] = {a.v[0] < a.v[1] ? a.v[1] : a.v[0], a.v[2] < a.v[3] ? a.v[3] : a.v[2]};
  const Vec top = pairs[0] < pairs[1] ? pairs[1] : pairs[0];
  std::memcpy(f, &top, sizeof f);
#endif
  const float x = f[0] < f[1] ? f[1] : f[0], y = f[2] < f[3] ? f[3] : f[2];
  const unsigned bits = lanes_reach(a, all(x < y ? y : x));
  return bits != 0 ? __builtin_ctz(bits) : 0;
}
HZ_LANES float lane(const Lanes& a, int i) {
  float f[kLanes];
  store(f, a);
  return f[i];
}

}  // namespace HZ_UNIT
}  // namespace hz::quant
