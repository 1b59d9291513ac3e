// SPDX-License-Identifier: Apache-2.0
// Decoding to float, the same few lines for every format: multiply and add rounded separately, never fused.
#pragma once
#include "hanzo/quant/format/portable.h"

namespace hz::quant {
inline namespace HZ_UNIT {

// Group j of a block: out[kStep] = (dw * s) * code + minimum.
template <class W>
HZ_FN void decode_group(const typename W::Block& b, int j, float* out) {
  int8_t codes[W::kStep];
  W::codes(b, j, codes);
  const GroupScales g = W::scales(b, j);
  for (int i = 0; i < W::kStep; ++i) {
    const bool second = 2 * i >= W::kStep;
    float d = g.dw;
    if constexpr (W::kSub) d = g.dw * (float)(second ? g.s1 : g.s0);
    float v = d * (float)codes[i];
    if constexpr (W::kMin == Min::per_group) v = v + g.mw;
    if constexpr (W::kMin == Min::per_half) v = v + g.mw * (float)(second ? g.m1 : g.m0);
    out[i] = v;
  }
}

// A whole block: out[kElems].
template <class W>
HZ_FN void decode_block(const typename W::Block& b, float* out) {
  if constexpr (W::kFloating) {
    out[0] = W::value(b);
  } else {
    for (int j = 0; j < W::kElems / W::kStep; ++j) decode_group<W>(b, j, out + j * W::kStep);
  }
}

}  // namespace HZ_UNIT
}  // namespace hz::quant
