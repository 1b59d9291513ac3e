// SPDX-License-Identifier: Apache-2.0
// The kernels of a format, as templates over its description W. Instantiated once per format and set.
#pragma once

namespace hz::cpu {
inline namespace HZ_UNIT {

template <class W>
HZ_FN void put_scales(IntPanel& p, int64_t b, int r, const quant::GroupScales& g) {
  p.dw[b * 16 + r] = g.dw;
  if constexpr (W::kMin != quant::Min::none) p.mw[b * 16 + r] = g.mw;
  if constexpr (TileTraits<W>::kSub) {
    p.sub[b * 64 + r] = g.s0;
    p.sub[b * 64 + 16 + r] = g.s1;
  }
  if constexpr (W::kMin == quant::Min::per_half) {
    p.sub[b * 64 + 32 + r] = g.m0;
    p.sub[b * 64 + 48 + r] = g.m1;
  }
}

// One group of one row into its place in a panel.
template <class W>
HZ_FN void expand_group(const typename W::Block& block, int j, int r, int64_t b, IntPanel& p) {
  constexpr int step = W::kStep;
  int8_t codes[step];
  uint8_t shifted[step];
  W::codes(block, j, codes);
  const quant::GroupScales scales = W::scales(block, j);
  for (int i = 0; i < step; ++i) {
    const int scale = !TileTraits<W>::kFolded ? 1 : i < 16 ? scales.s0 : scales.s1;
    shifted[i] = (uint8_t)(scale * codes[i] - TileTraits<W>::kLow);
  }
  uint8_t* to = p.codes + b * step * 16 + r * 4;
  for (int v = 0; v < step / 4; ++v) memcpy(to + v * 64, shifted + 4 * v, 4);
  put_scales<W>(p, b, r, scales);
}

template <class W>
static void expand(const std::byte* rows, size_t stride, int count, int64_t k0, int64_t k1, IntPanel& p) {
  p.low = TileTraits<W>::kLow;
  p.blocks = (k1 - k0) / W::kStep;
  for (int r = 0; r < count; ++r) {
    const auto* block = block_at<W>(rows, stride, r, k0);
    for (int64_t b = 0; b < p.blocks; b += Traits<W>::kGroups, ++block)
      for (int j = 0; j < Traits<W>::kGroups; ++j) expand_group<W>(*block, j, r, b + j, p);
  }
  const typename W::Block zero{};
  for (int r = count; r < 16; ++r)  // rows that are not there: weights of a zero block, results thrown away
    for (int64_t b = 0; b < p.blocks; b += Traits<W>::kGroups)
      for (int j = 0; j < Traits<W>::kGroups; ++j) expand_group<W>(zero, j, r, b + j, p);
}

template <class W>
static void expand_float(const std::byte* rows, size_t stride, int count, int64_t k0, int64_t k1, float* out) {
  for (int r = 0; r < 16; ++r) {
    if (r >= count) {
      for (int64_t k = k0; k < k1; ++k) out[(k - k0) * 16 + r] = 0.0f;
      continue;
    }
    if constexpr (W::kFloating) {
      const auto* block = block_at<W>(rows, stride, r, k0);
      for (int64_t k = k0; k < k1; ++k) out[(k - k0) * 16 + r] = W::value(*block++);
    } else {
      for (int64_t k = k0; k < k1; k += W::kStep) {
        float v[W::kStep];
        quant::decode_group<W>(*block_at<W>(rows, stride, r, k), (int)(k % W::kElems) / W::kStep, v);
        for (int i = 0; i < W::kStep; ++i) out[(k - k0 + i) * 16 + r] = v[i];
      }
    }
  }
}

template <class W>
static void decode_row(const std::byte* row, int64_t k0, int64_t k1, float* out) {
  const auto* block = block_at<W>(row, 0, 0, k0);
  if constexpr (W::kFloating) {
    for (int64_t k = k0; k < k1; ++k) *out++ = W::value(*block++);
  } else {
    for (int64_t k = k0; k < k1; k += W::kElems, ++block)
      for (int j = 0; j < Traits<W>::kGroups; ++j, out += W::kStep) quant::decode_group<W>(*block, j, out);
  }
}

template <class W>
static void tile(const IntPanel& p, const std::byte* acts, int64_t groups, int64_t first_group, int tokens, float* const* y, bool carry) {
  int_tile<TileTraits<W>::kTop, kVariant<W>>(p, acts, groups, first_group, tokens, y, carry);
}

template <class W>
constexpr int kActTokens = kTileTokens<TileTraits<W>::kTop, kVariant<W>>;

template <class W>
static void pack_acts(const ActRow* x, int tokens, int64_t groups, std::byte* out) {
  pack_act_tiles<kActTokens<W>, kVariant<W>>(x, tokens, groups, TileTraits<W>::kLow, out);
}

// P: the format itself, or its expanded form.
template <class P>
constexpr void offer_panels(FormatKernels& f) {
  f.packed_unit = P::kElems;
  f.packed_bytes = PanelLayout<P>::kBytes;
  f.expanded = Expanding<P>;
  f.pack = &pack<P>;
  if constexpr (!Expanding<P>) f.unpack = &unpack<P>;
  f.expand_packed = &expand_packed<P>;
  f.expand_float_packed = &expand_float_packed<P>;
  f.matvec_packed = &matvec_packed<P>;
  f.packed_tile_tokens = kPackedTileTokens;
  if constexpr (kPackedTileTokens > 0) f.packed_tile = &packed_tile<P>;
}

template <class W>
constexpr FormatKernels make_format() {
  FormatKernels f{};
  f.floating = W::kFloating;
  f.block = W::kElems;
  f.expand_float = &expand_float<W>;
  f.decode_row = &decode_row<W>;
  if constexpr (!W::kFloating) {
    f.step = W::kStep;
    f.low = TileTraits<W>::kLow;
    f.expand = &expand<W>;
    f.act_tokens = kActTokens<W>;
    f.act_bytes = kActBytes<kVariant<W>>;
    f.pack_acts = &pack_acts<W>;
    f.tile = &tile<W>;
    f.matvec_rows = &matvec_rows<W>;
    if constexpr (Codebook<W>) offer_panels<quant::Expanded<W>>(f);
    else if constexpr (requires { W::kBits; }) offer_panels<W>(f);
  } else {
    f.packed_unit = 1;
    f.packed_bytes = 16 * sizeof(typename W::Block);
    f.pack = &pack_floats<W>;
    f.unpack = &unpack_floats<W>;
    f.expand_float_packed = &expand_floats_packed<W>;
    f.float_matvec = &float_matvec<W>;
  }
  return f;
}

}  // namespace HZ_UNIT
}  // namespace hz::cpu
