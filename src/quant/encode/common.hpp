// SPDX-License-Identifier: Apache-2.0
// What the encoders share: the loop over blocks, magnitudes, guarded rounding, and the mark of poisoned input.
//
// An encoder never fails on its input and never hides it: a block that holds a NaN or an infinity gets a scale that
// the format's finite() refuses (kPoisonHalf, or the format's own forbidden code) and zero codes. So does, by the
// conversion itself, a block whose scale is beyond half range.
#pragma once
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "hanzo/core/dtype.hpp"
#include "hanzo/quant/wtype.hpp"

namespace hz::quant {

inline constexpr std::uint16_t kPoisonHalf = 0x7e00;  // NaN

// Calls encode(x of the block, zeroed block) for each block of a row of n weights and stores the block.
template <class W, class Encode>
void each_block(const float* x, std::int64_t n, std::byte* out, Encode encode) {
  for (std::int64_t i = 0; i + W::kElems <= n; i += W::kElems, out += sizeof(typename W::Block)) {
    typename W::Block b{};
    encode(x + i, b);
    std::memcpy(out, &b, sizeof b);
  }
}

// |x| as bits, which are ordered as the values are.
inline std::int32_t magnitude_bits(float x) { return std::bit_cast<std::int32_t>(x) & 0x7fffffff; }

// The largest magnitude; not finite where one is not. Compared as integers, as GCC vectorises no maximum of floats.
inline float top_magnitude(const float* x, int n) {
  std::int32_t top = 0;
  for (int i = 0; i < n; ++i) top = std::max(top, magnitude_bits(x[i]));
  return std::bit_cast<float>(top);
}

inline bool all_finite(const float* x, int n) { return std::isfinite(top_magnitude(x, n)); }

// The element of largest magnitude, the first of equals; 0 for a block of zeros; not finite where one is not.
inline float extreme(const float* x, int n) {
  const std::int32_t top = magnitude_bits(top_magnitude(x, n));
  if (top == 0) return 0;
  int i = 0;
  while (magnitude_bits(x[i]) != top) ++i;
  return x[i];
}

// 1 / d, or 0 where that has no finite value: codes of a scale too small to invert are those of zeros.
inline float inverse(float d) {
  const float r = d != 0 ? 1.0f / d : 0.0f;
  return std::isfinite(r) ? r : 0.0f;
}

// v within low..high; a NaN gives low.
inline float clamped(float v, int low, int high) {
  const float least = static_cast<float>(low), most = static_cast<float>(high), above = v > least ? v : least;
  return above < most ? above : most;
}
// v cut towards zero into low..high; a NaN gives low.
inline int truncate(float v, int low, int high) { return static_cast<int>(clamped(v, low, high)); }
// v rounded to the nearest integer, halves away from zero, into low..high; a NaN gives low.
inline int round_away(float v, int low, int high) {
  const float c = clamped(v, low, high);
  const int whole = static_cast<int>(c);
  const float rest = c - static_cast<float>(whole);
  return whole + (rest >= 0.5f) - (rest <= -0.5f);
}
// v rounded to the nearest integer, halves to even, into low..high.
inline int round_even(float v, int low, int high) {
  if (!(v > static_cast<float>(low))) return low;
  if (v >= static_cast<float>(high)) return high;
  constexpr float kShift = 0x1.8p23f;  // pushes the fraction out of the mantissa, in the nearest-even mode
  return static_cast<int>((v + kShift) - kShift);
}

inline std::uint16_t half_bits(float f) { return to_half(f).bits; }

}  // namespace hz::quant
