// SPDX-License-Identifier: Apache-2.0
// Q4_0 Q4_1 Q5_0 Q5_1 by rule: one pass, the scale from the extremes of the block.
#pragma once
#include <limits>

#include "src/quant/encode/common.hpp"
#include "src/quant/search/table.hpp"

namespace hz::quant {

// Codes 0..2^bits - 1 of a block of 32 as nibbles in qs; the fifth bits, if any, come back as a mask.
template <class Code>
std::uint32_t pack_codes(std::uint8_t* qs, Code code) {
  std::uint8_t codes[32];
  for (int i = 0; i < 32; ++i) codes[i] = static_cast<std::uint8_t>(code(i));
  for (int i = 0; i < 16; ++i) qs[i] = static_cast<std::uint8_t>((codes[i] & 15) | (codes[i + 16] & 15) << 4);
  std::uint32_t fifth = 0;
  for (int i = 0; i < 32; ++i) fifth |= static_cast<std::uint32_t>(codes[i] >> 4) << i;
  return fifth;
}

// Symmetric: the element of largest magnitude becomes the code -offset; q = x / d + offset, halves up.
template <class Block>
std::uint32_t encode_symmetric(const float* x, int offset, Block& b) {
  if (!all_finite(x, 32)) {
    b.d = kPoisonHalf;
    return 0;
  }
  const float d = extreme(x, 32) / static_cast<float>(-offset), inv = inverse(d);
  b.d = half_bits(d);
  const float shift = static_cast<float>(offset) + 0.5f;
  return pack_codes(b.qs, [&](int i) { return truncate(x[i] * inv + shift, 0, 2 * offset - 1); });
}

// With a minimum: d = (max - min) / top, q = (x - min) / d, halves up.
template <class Block>
std::uint32_t encode_with_minimum(const float* x, int top, Block& b) {
  if (!all_finite(x, 32)) {
    b.d = b.m = kPoisonHalf;
    return 0;
  }
  float low = std::numeric_limits<float>::max(), high = -low;
  for (int i = 0; i < 32; ++i) {
    if (x[i] < low) low = x[i];
    if (x[i] > high) high = x[i];
  }
  const float d = (high - low) / static_cast<float>(top), inv = inverse(d);
  b.d = half_bits(d);
  b.m = half_bits(low);
  return pack_codes(b.qs, [&](int i) { return truncate((x[i] - low) * inv + 0.5f, 0, top); });
}

// Whether the block is searched rather than scaled by its extremes.
inline bool searches(const EncodeOptions& options) { return options.importance != nullptr || options.search == Search::thorough; }

}  // namespace hz::quant
