// SPDX-License-Identifier: Apache-2.0
// The kernels of a format, as templates over its description W. Instantiated once per format and set.
#pragma once

namespace hz::cpu {
inline namespace HZ_UNIT {

template <class W>
struct Traits {
  static constexpr int kVariant = W::kStep == 16                           ? kStep16
                                  : W::kMin == quant::Min::per_half        ? kSubMin
                                  : W::kSub                                ? kSubScaled
                                  : W::kMin == quant::Min::per_group       ? kMinGroup
                                                                           : kPlain;
  static constexpr int kTop = W::kHigh - W::kLow;  // largest panel code
  static_assert(kTop <= 255);
  static constexpr int kGroups = W::kElems / W::kStep;
};

template <class W>
HZ_FN const typename W::Block* block_at(const std::byte* rows, size_t stride, int64_t r, int64_t k) {
  return (const typename W::Block*)(rows + (size_t)r * stride) + k / W::kElems;
}

template <class W>
HZ_FN void put_scales(IntPanel& p, int64_t b, int r, const quant::GroupScales& g) {
  p.dw[b * 16 + r] = g.dw;
  if constexpr (W::kMin != quant::Min::none) p.mw[b * 16 + r] = g.mw;
  if constexpr (W::kSub) {
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
  for (int i = 0; i < step; ++i) shifted[i] = (uint8_t)(codes[i] - W::kLow);
  uint8_t* to = p.codes + b * step * 16 + r * 4;
  for (int v = 0; v < step / 4; ++v) memcpy(to + v * 64, shifted + 4 * v, 4);
  put_scales<W>(p, b, r, W::scales(block, j));
}

template <class W>
static void expand(const std::byte* rows, size_t stride, int count, int64_t k0, int64_t k1, IntPanel& p) {
  p.low = W::kLow;
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

// A row's weights decoded ahead of the products: what was stored is in the cache by the time it is read in wider pieces.
template <class W>
struct RowSpan {
  static constexpr int kWeights = W::kElems > 256 ? W::kElems : 256, kMost = kWeights / W::kStep;
  static constexpr int kPadded = kMost < 16 ? 16 : kMost;  // whole vectors of groups
  static_assert(kWeights % W::kElems == 0 && kWeights % 128 == 0 && kMost % 4 == 0);
  alignas(64) int8_t codes[kWeights];
  alignas(64) float dw[kPadded], mw[kPadded];
  alignas(64) int32_t s0[kPadded], s1[kPadded], m0[kPadded], m1[kPadded];
  int groups;

  HZ_FN void read(RowSpan& s, const typename W::Block* block, int64_t weights) {
    s.groups = (int)(weights / W::kStep);
    for (int g = 0; g < s.groups; ++block)
      for (int j = 0; j < Traits<W>::kGroups; ++j, ++g) {
        W::codes(*block, j, s.codes + g * W::kStep);
        const quant::GroupScales scales = W::scales(*block, j);
        s.dw[g] = scales.dw;
        if constexpr (W::kMin != quant::Min::none) s.mw[g] = scales.mw;
        if constexpr (W::kSub) {
          s.s0[g] = scales.s0;
          s.s1[g] = scales.s1;
        }
        if constexpr (W::kMin == quant::Min::per_half) {
          s.m0[g] = scales.m0;
          s.m1[g] = scales.m1;
        }
      }
    if (weights % 128 != 0) memset(s.codes + weights, 0, (size_t)(128 - weights % 128));
  }
};

// One token's part of a span; a copy where the row of activations ends before it does.
template <class W>
struct ActSpan {
  const int8_t* codes;
  const float* scales;   // one for each group of 32
  const int32_t* sums;
  alignas(64) int8_t codes_copy[RowSpan<W>::kWeights];
  alignas(64) float scales_copy[RowSpan<W>::kPadded];

  HZ_FN void read(ActSpan& s, const ActRow& x, int64_t k, int64_t weights) {
    s.codes = x.codes + k;
    s.scales = x.scales + k / 32;
    s.sums = x.sums + k / 16;
    if (weights == RowSpan<W>::kWeights && RowSpan<W>::kMost % kLanes == 0) return;
    if (weights < RowSpan<W>::kWeights) {
      memset(s.codes_copy, 0, sizeof s.codes_copy);
      memcpy(s.codes_copy, s.codes, (size_t)weights);
      s.codes = s.codes_copy;
    }
    memset(s.scales_copy, 0, sizeof s.scales_copy);
    memcpy(s.scales_copy, s.scales, (size_t)(weights / 32) * 4);
    s.scales = s.scales_copy;
  }
};

// Groups of a span times one token, ascending, by the rule of the contract.
template <class W>
HZ_FN float span_product(const RowSpan<W>& w, const ActSpan<W>& x, float y) {
  using S = RowSpan<W>;
  alignas(64) int32_t first[S::kPadded], second[S::kPadded];
  alignas(64) float whole[S::kPadded], scale[S::kPadded];
  for (int i = 0; i < S::kWeights; i += 128)
    if (i < w.groups * W::kStep) dot32x4(w.codes + i, x.codes + i, first + i / 32, second + i / 32);
  if constexpr (W::kStep == 16) {
    for (int g = 0; g < w.groups; ++g) {
      whole[g] = (float)(g % 2 == 0 ? first : second)[g / 2];
      scale[g] = w.dw[g] * x.scales[g / 2];
    }
  } else {
    for (int g = 0; g < S::kMost; g += kLanes) {
      const VI a = load_i(first + g), b = load_i(second + g);
      store(whole + g, to_float(W::kSub ? add_i(mul_i(a, load_i(w.s0 + g)), mul_i(b, load_i(w.s1 + g))) : add_i(a, b)));
      store(scale + g, mul(load(w.dw + g), load(x.scales + g)));
    }
  }
  for (int g = 0; g < w.groups; ++g) {
    y = __builtin_fmaf(whole[g], scale[g], y);
    if constexpr (W::kMin == quant::Min::none) continue;
    const float dx = x.scales[g];
    const int32_t s0 = x.sums[2 * g], s1 = x.sums[2 * g + 1];
    if constexpr (W::kMin == quant::Min::per_group) y = __builtin_fmaf(w.mw[g], (float)(s0 + s1) * dx, y);
    if constexpr (W::kMin == quant::Min::per_half) y = __builtin_fmaf((float)(w.m0[g] * s0 + w.m1[g] * s1), w.mw[g] * dx, y);
  }
  return y;
}

template <class W>
static void matvec_rows(const std::byte* rows, size_t stride, int64_t count, int64_t k, const ActRow* x, int tokens, float* const* y) {
  constexpr int64_t span = RowSpan<W>::kWeights;
  RowSpan<W> w;
  memset(&w, 0, sizeof w);
  ActSpan<W> act;
  for (int64_t r = 0; r < count; ++r) {
    for (int t = 0; t < tokens; ++t) y[t][r] = 0.0f;
    for (int64_t at = 0; at < k; at += span) {
      const int64_t weights = k - at < span ? k - at : span;
      RowSpan<W>::read(w, block_at<W>(rows, stride, r, at), weights);
      for (int t = 0; t < tokens; ++t) {
        ActSpan<W>::read(act, x[t], at, weights);
        y[t][r] = span_product<W>(w, act, y[t][r]);
      }
    }
  }
}

template <class W>
static void tile(const IntPanel& p, const ActRow* x, int64_t first_block, int tokens, float* const* y, bool carry) {
  int_tile_kind<Traits<W>::kTop, Traits<W>::kVariant>(p, x, first_block, tokens, y, carry);
}

template <class W>
constexpr FormatKernels make_format() {
  FormatKernels f{};
  f.floating = W::kFloating;
  f.block = W::kElems;
  // Measured: minimums and codebooks are slower row by row than sixteen rows at a time.
  if constexpr (requires { W::kBits; }) f.rows_direct = kLanes == 1 || W::kMin == quant::Min::none;
  else f.rows_direct = kLanes == 1;
  f.expand_float = &expand_float<W>;
  f.decode_row = &decode_row<W>;
  if constexpr (!W::kFloating) {
    f.step = W::kStep;
    f.low = W::kLow;
    f.expand = &expand<W>;
    f.tile = &tile<W>;
    f.matvec_rows = &matvec_rows<W>;
    if constexpr (requires { W::kBits; }) {
      f.packed_unit = W::kElems;
      f.packed_bytes = PanelLayout<W>::kBytes;
      f.pack = &pack<W>;
      f.unpack = &unpack<W>;
      f.expand_packed = &expand_packed<W>;
      f.expand_float_packed = &expand_float_packed<W>;
      f.matvec_packed = &matvec_packed<W>;
    }
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
