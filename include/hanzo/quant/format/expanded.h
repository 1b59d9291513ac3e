// SPDX-License-Identifier: Apache-2.0
// Codebook formats (IQ1 IQ2 IQ3): their scales, and the expanded form that panels keep of them. There a weight is an index
// into the signed magnitudes in 3 or 4 bits (6 or 16 values) in place of a share of a point and a sign: more bytes than the
// file's, read like any other packable format. Points and signs of a block follow from its weights, so nothing is lost, but
// no form is turned back: the bytes of the file stay where they are.
#pragma once
#include "hanzo/quant/format/portable.h"

namespace hz::quant {
inline namespace HZ_UNIT {

// d: scale of the block times the format's unit. s: the four bits of a group, or (kSub) those of its halves, first half low.
template <class W, class A>
HZ_FN ScalesOf<typename A::F, typename A::I> codebook_scales(typename A::F d, typename A::I s) {
  if constexpr (W::kSub) return {.dw = d, .s0 = ((s & 15) << 1) + 1, .s1 = ((s >> 4) << 1) + 1};
  else return {.dw = d * A::to_float((s << 1) + 1)};
}

// scales(b, j) of a codebook format.
template <class W>
HZ_FN GroupScales codebook_row_scales(const typename W::Block& b, int j) {
  const auto s = codebook_scales<W, RowBytes>(half_value(W::half_bits(b)) * W::kUnit, W::scale_bits(b, j));
  GroupScales g;
  g.dw = s.dw;
  if constexpr (W::kSub) {
    g.s0 = s.s0;
    g.s1 = s.s1;
  }
  return g;
}

// W as panels keep it. Head: half d, then the bits of the scales, a nibble a group of 32 (kSub: of 16), lowest first.
template <class W>
struct Expanded : W {
  static constexpr int kMagnitudes = (int)sizeof(W::magnitudes().at);
  static constexpr int kBits = kMagnitudes == 3 ? 3 : 4;
  static_assert(kMagnitudes == 3 || kMagnitudes == 8);
  static constexpr int kGroups = W::kElems / W::kStep, kScaleBytes = W::kSub ? kGroups : kGroups / 2;
  static constexpr HeadRange kHead[] = {{0, 2, 2}, {2, kScaleBytes, 1}};
  static constexpr int kBlockBytes = 2 + kScaleBytes + W::kElems * kBits / 8;  // a row's share of a panel

  HZ_FN void head(const typename W::Block& b, uint8_t* out) {
    const uint16_t d = W::half_bits(b);
    __builtin_memcpy(out, &d, 2);
    for (int j = 0; j < kGroups; ++j) {
      if (W::kSub) out[2 + j] = (uint8_t)W::scale_bits(b, j);
      else out[2 + j / 2] = (uint8_t)(j % 2 == 0 ? W::scale_bits(b, j) : out[2 + j / 2] | W::scale_bits(b, j) << 4);
    }
  }
  // Ascending; of three magnitudes the first six.
  HZ_FN constexpr Table<int8_t, 16> values() {
    Table<int8_t, 16> t{};
    for (int i = 0; i < kMagnitudes; ++i) {
      t.at[kMagnitudes + i] = W::magnitudes().at[i];
      t.at[kMagnitudes - 1 - i] = (int8_t)-W::magnitudes().at[i];
    }
    return t;
  }
  // Index of value kLow + i; 0 where there is none.
  HZ_FN constexpr Table<uint8_t, 256> index_table() {
    Table<uint8_t, 256> t{};
    for (int i = 0; i < 2 * kMagnitudes; ++i) t.at[values().at[i] - W::kLow] = (uint8_t)i;
    return t;
  }
  HZ_FN void indices(const typename W::Block& b, int j, uint8_t* out) {
    constexpr Table<uint8_t, 256> index = index_table();
    int8_t codes[W::kStep];
    W::codes(b, j, codes);
    for (int i = 0; i < W::kStep; ++i) out[i] = index.at[codes[i] - W::kLow];
  }
  template <class A>
  HZ_FN ScalesOf<typename A::F, typename A::I> scales_of(const A& a, int j) {
    const auto d = a.half(0) * W::kUnit;
    if constexpr (W::kSub) return codebook_scales<W, A>(d, a.u8(2 + j));
    else return codebook_scales<W, A>(d, (a.u8(2 + j / 2) >> (4 * (j % 2))) & 15);
  }
};

}  // namespace HZ_UNIT
}  // namespace hz::quant
