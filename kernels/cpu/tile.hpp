// SPDX-License-Identifier: Apache-2.0
// The prompt's inner kernels: a panel of sixteen rows against a tile of tokens. Inside a block integers may be
// added in any order; per output there is one fma a block, ascending (docs/numerics.md, Products).
#pragma once

namespace hz::cpu {
inline namespace HZ_UNIT {

// One step of all tokens: the code vector is made once. x: the group's activations, [T][32].
template <int Step, int End, int T, class D, class G>
HZ_FN void tile_steps(D* dot, const G& group, const int8_t* x) {
  if constexpr (Step < End) {
    const Codes w = group.template codes<Step>();
    for (int t = 0; t < T; ++t) dot[t].template step<Step>(w, x + 32 * t + 4 * Step);
    tile_steps<Step + 1, End, T>(dot, group, x);
  }
}

// Sixteen columns of a sub-scaled format.
template <int Step, int Half, int T, class D, class G>
HZ_FN void tile_half(D* dot, const G& group, const int8_t* x, const SubScales& scales, const int32_t (*starts)[2]) {
  if constexpr (Step < 4) {
    const Codes w = group.template codes<4 * Half + Step>();
    for (int t = 0; t < T; ++t) dot[t].template step<Step, Half>(w, x + 32 * t + 16 * Half + 4 * Step, scales);
    tile_half<Step + 1, Half, T>(dot, group, x, scales, starts);
  } else {
    for (int t = 0; t < T; ++t) dot[t].template end<Half>(scales, starts[t]);
  }
}

// kLanes rows of 32 columns (16-wide steps: of half `half` of the activations' group) onto the sums of T tokens.
template <int Top, int T, int Kind, class G>
HZ_FN void tile_group(const G& group, const ActGroup<T, Kind>& act, int half, V* sum) {
  const V dw = group.dw();
  V whole[T];
  if constexpr (Kind == kSubScaled) {
    const SubScales s = group.sub();
    SubDot<Top> dot[T];
    for (int t = 0; t < T; ++t) dot[t] = SubDot<Top>::start(s, act.sums[t], act.starts[t]);
    tile_half<0, 0, T>(dot, group, act.codes[0], s, act.starts);
    tile_half<0, 1, T>(dot, group, act.codes[0], s, act.starts);
    for (int t = 0; t < T; ++t) whole[t] = dot[t].value();
  } else {
    Dot<Top> dot[T];
    for (int t = 0; t < T; ++t) dot[t] = Dot<Top>::start(act.starts[t][half]);
    tile_steps<0, Kind == kStep16 ? 4 : 8, T>(dot, group, act.codes[0] + 16 * half);
    for (int t = 0; t < T; ++t) whole[t] = to_float(dot[t].finish(act.starts[t][half]));
  }
  for (int t = 0; t < T; ++t) sum[t] = fma(whole[t], mul(dw, set1(act.scales[t])), sum[t]);
  if constexpr (Kind == kMinGroup) {
    const V mw = group.mw();
    for (int t = 0; t < T; ++t) sum[t] = fma(mw, set1(act.min_factors[t]), sum[t]);
  }
  if constexpr (Kind == kHalfMin) {
    const ScalePair m = group.mins();
    const V mw = group.mw();
    for (int t = 0; t < T; ++t) sum[t] = fma(to_float(pair_products(m, act.sums[t])), mul(mw, set1(act.scales[t])), sum[t]);
  }
}

// A block of an expanded panel, as tile_group reads it.
struct PanelGroup {
  const IntPanel& p;
  const uint8_t* at;
  int64_t b;
  int row;
  template <int Step> Codes codes() const { return load_codes(at + Step * 64); }
  V dw() const { return load(p.dw + b * 16 + row); }
  V mw() const { return load(p.mw + b * 16 + row); }
  SubScales sub() const { return sub_scales(ints(0), ints(1), p.low); }
  ScalePair mins() const { return scale_pair(ints(2), ints(3)); }
  VI ints(int which) const { return load_i(p.sub + b * 64 + which * 16 + row); }
};

// kLanes rows of the panel from `row` on against the activations x of its groups of 32 columns.
template <int Top, int T, int Kind>
HZ_FN void int_tile_rows(const IntPanel& p, int row, const ActGroup<T, Kind>* x, float* const* y, bool carry) {
  V sum[T];
  for (int t = 0; t < T; ++t) sum[t] = carry ? load(y[t] + row) : set1(0.0f);
  for (int64_t b = 0; b < p.blocks; ++b) {
    // With 16-wide steps two blocks of the panel share one group of activations.
    constexpr bool k16 = Kind == kStep16;
    const PanelGroup group{p, p.codes + b * (k16 ? 256 : 512) + row * 4, b, row};
    tile_group<Top, T, Kind>(group, x[k16 ? b / 2 : b], k16 ? (int)(b % 2) : 0, sum);
  }
  for (int t = 0; t < T; ++t) store(y[t] + row, sum[t]);
}

// A panel that begins at column 32 * first_group against packed activations (act_tile.hpp) of `groups` groups.
template <int Top, int Kind>
HZ_FN void int_tile(const IntPanel& p, const std::byte* acts, int64_t groups, int64_t first_group, int tokens, float* const* y,
                    bool carry) {
  each_tile<kTileTokens<Top, Kind>>(tokens, [&]<int T>(int t) {
    const auto* x = (const ActGroup<T, Kind>*)(acts + act_place<T, Kind>(groups, t, first_group));
    for (int row = 0; row < 16; row += kLanes) int_tile_rows<Top, T, Kind>(p, row, x, y + t, carry);
  });
}

// Float weights, G vectors of rows from `row` on: w [row / 16][k][16], y = fma(w, x, y); x [k][T].
template <int G, int T>
HZ_FN void float_tile_rows(const float* w, int row, const float* x, int64_t k, float* const* y, bool carry) {
  V sum[T][G];
  for (int t = 0; t < T; ++t)
    for (int g = 0; g < G; ++g) sum[t][g] = carry ? load(y[t] + row + g * kLanes) : set1(0.0f);
#pragma GCC unroll 2
  for (int64_t i = 0; i < k; ++i) {
    V wi[G];
    for (int g = 0; g < G; ++g) {
      const int r = row + g * kLanes;
      wi[g] = load(w + (r / 16 * k + i) * 16 + r % 16);
    }
    for (int t = 0; t < T; ++t) {
      const V xi = set1(x[i * T + t]);
      for (int g = 0; g < G; ++g) sum[t][g] = fma(wi[g], xi, sum[t][g]);
    }
  }
  for (int t = 0; t < T; ++t)
    for (int g = 0; g < G; ++g) store(y[t] + row + g * kLanes, sum[t][g]);
}
// `count` of k columns from `first` on; w begins there. Two vectors of rows share an activation: with one, loads are as many as
// products, and those are what a core does two of at a time.
static void float_tile(const float* w, int panels, const float* acts, int64_t k, int64_t first, int64_t count, int tokens, float* const* y,
                       bool carry) {
  constexpr int kPair = kLanes == 1 ? 1 : 2;
  each_tile<kFloatTokens>(tokens, [&]<int T>(int t) {
    const float* x = acts + t * k + first * T;
    int row = 0;
    for (; row + kPair * kLanes <= 16 * panels; row += kPair * kLanes) float_tile_rows<kPair, T>(w, row, x, count, y + t, carry);
    if constexpr (kLanes == 16)
      if (row < 16 * panels) float_tile_rows<1, T>(w, row, x, count, y + t, carry);
  });
}

}  // namespace HZ_UNIT
}  // namespace hz::cpu
