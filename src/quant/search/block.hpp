// SPDX-License-Identifier: Apache-2.0
// What every search begins with: the block scaled by a power of two to magnitudes up to 1, its weights, and how a scale
// in that unit becomes the half of the file.
#pragma once
#include <type_traits>

#include "hanzo/quant/format/iq4_nl.h"
#include "hanzo/quant/format/iq4_xs.h"
#include "hanzo/quant/wtype.hpp"
#include "src/quant/search/lanes.hpp"

namespace hz::quant {
inline namespace HZ_UNIT {

HZ_FN uint32_t float_bits(float f) {
  uint32_t b;
  __builtin_memcpy(&b, &f, 4);
  return b;
}
HZ_FN double power_of_two(int e) {  // -1022 <= e <= 1023
  const uint64_t bits = (uint64_t)(e + 1023) << 52;
  double d;
  __builtin_memcpy(&d, &bits, 8);
  return d;
}
// The exponent e with 2^(e - 1) <= f < 2^e; f > 0, finite.
HZ_FN int exponent_of(float f) {
  const uint32_t bits = float_bits(f);
  if (bits < 0x00800000u) return exponent_of(f * 0x1p64f) - 64;
  return (int)(bits >> 23) - 126;
}

// binary32 to binary16, nearest even; beyond the range infinity.
HZ_FN uint16_t to_half_bits(float f) {
#if defined(__F16C__)
  return (uint16_t)_mm_cvtsi128_si32(_mm_cvtps_ph(_mm_set_ss(f), 0));
#else
  const uint32_t x = float_bits(f), sign = (x >> 16) & 0x8000u, a = x & 0x7fffffffu;
  if (a >= 0x477ff000u) return (uint16_t)(sign | 0x7c00u);
  if (a >= 0x38800000u) return (uint16_t)(sign | (a + 0xfffu + ((a >> 13) & 1u) - 0x38000000u) >> 13);
  const float shifted = bits_to_float(a) + 0.5f;  // subnormal: 0.5 has its last bit at 2^-24
  return (uint16_t)(sign | (float_bits(shifted) - 0x3f000000u));
#endif
}

struct HalfScale {
  uint16_t bits;
  float value;  // in the unit of the scaled block
};

// A block of at most 256 weights, scaled.
struct ScaledBlock {
  float x[256], w[256];
  bool alike;  // all weights are equal
  double up, down;  // true scale = up * scale in the block's unit

  HalfScale half(float scale) const {
    const uint16_t bits = to_half_bits((float)(scale * up));
    return half_of(bits);
  }
  HalfScale half_of(uint16_t bits) const { return {bits, (float)(half_value(bits) * down)}; }
};

enum class BlockKind { ordinary, zero, poison };

// Fills b. Weights come from the importance, the largest becoming 1 to 2; all alike where there is none worth using.
HZ_FN BlockKind scale_block(const float* x, const float* importance, int n, ScaledBlock& b) {
  uint32_t top = 0, heaviest = 0;
  for (int i = 0; i < n; ++i) {
    const uint32_t m = float_bits(x[i]) & 0x7fffffffu;
    top = m > top ? m : top;
  }
  bool usable = importance != nullptr;
  for (int i = 0; usable && i < n; ++i) {
    if (!(importance[i] >= 0 && importance[i] < 0x1p100f)) usable = false;
    else if (importance[i] > 0 && float_bits(importance[i]) > heaviest) heaviest = float_bits(importance[i]);
  }
  if (top >= 0x7f800000u) return BlockKind::poison;
  if (top == 0) return BlockKind::zero;
  const int e = exponent_of(bits_to_float(top));
  int others = 0;
  for (int i = 1; i < n; ++i) others |= x[i] != x[0];
  b.alike = others == 0;
  b.up = power_of_two(e);
  b.down = power_of_two(-e);
  for (int i = 0; i < n; ++i) b.x[i] = (float)(x[i] * b.down);
  if (!usable || heaviest == 0) {
    for (int i = 0; i < n; ++i) b.w[i] = 1;
    return BlockKind::ordinary;
  }
  // No column is worth nothing: where a group has no importance at all, its weights still get their nearest codes.
  const double unit = power_of_two(1 - exponent_of(bits_to_float(heaviest)));
  for (int i = 0; i < n; ++i) {
    const float w = (float)(importance[i] * unit);
    b.w[i] = w > 0x1p-20f ? w : 0x1p-20f;
  }
  return BlockKind::ordinary;
}

// The uneven steps of IQ4 are for the large weights: without importance each counts by its square. Plain least squares gives
// less error and a worse model (bench/results-quantize.md); a thorough search is asked for the least error.
template <class W>
inline constexpr bool weighs_by_square = std::is_same_v<W, iq4_nl> || std::is_same_v<W, iq4_xs>;

// w = x^2 + kShare * mean of x^2 over the group of 32: the mean keeps small weights from being worth nothing.
HZ_FN void weigh_by_square(ScaledBlock& b, int n) {
  constexpr float kShare = 2.0f;
  for (int g = 0; g < n; g += 32) {
    float sum = 0;
    for (int i = g; i < g + 32; ++i) sum = sum + b.x[i] * b.x[i];
    const float least = kShare * (sum * (1.0f / 32)) + 0x1p-60f;
    for (int i = g; i < g + 32; ++i) b.w[i] = b.x[i] * b.x[i] + least;
  }
}

// Calls encode(scaled block, importance of the block, zeroed block) for each block of a row; zero blocks stay zero,
// poisoned ones are marked by poison(block).
template <class W, class Encode, class Poison>
static inline void each_scaled_block(const float* x, int64_t n, const EncodeOptions& options, std::byte* out, Encode encode,
                                     Poison poison) {
  ScaledBlock scaled;
  for (int64_t at = 0; at + W::kElems <= n; at += W::kElems, out += sizeof(typename W::Block)) {
    typename W::Block b;
    std::memset(&b, 0, sizeof b);
    const float* importance = options.importance == nullptr ? nullptr : options.importance + at;
    const BlockKind kind = scale_block(x + at, importance, W::kElems, scaled);
    if (importance == nullptr && weighs_by_square<W> && options.search == Search::normal)
      weigh_by_square(scaled, W::kElems);
    if (kind == BlockKind::ordinary) encode(scaled, b);
    if (kind == BlockKind::poison) poison(b);
    std::memcpy(out, &b, sizeof b);
  }
}

inline constexpr uint16_t kPoisonHalfBits = 0x7e00;  // NaN

}  // namespace HZ_UNIT
}  // namespace hz::quant
