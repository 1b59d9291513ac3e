// SPDX-License-Identifier: Apache-2.0
// The prompt's inner kernels: a panel of sixteen rows against a tile of tokens. Inside a block integers may be
// added in any order; per output there is one fma a block, ascending (docs/numerics.md, Products).
#pragma once

namespace hz::cpu {
inline namespace HZ_UNIT {

constexpr int kRowGroups = 16 / kLanes;  // vectors of rows in a panel

constexpr bool is_sub(int kind) { return kind == kSubScaled || kind == kSubMin; }

// Tokens that fit the registers beside their float sums; sub-scaled formats have two integer sums a token.
template <int Top, int Kind>
constexpr int kTileTokens = kLanes == 16 ? (is_sub(Kind) ? 8 : 12) : kLanes == 8 ? (Top > 128 || Top <= 16 ? 6 : 4) : 2;

// One step of all tokens: the code vector is loaded once.
template <int Step, int End, int T, class D>
HZ_FN void tile_steps(D* dot, const uint8_t* codes, const int8_t* const* x, int64_t at) {
  if constexpr (Step < End) {
    const Codes w = load_codes(codes + Step * 64);
    for (int t = 0; t < T; ++t) dot[t].template step<Step>(w, x[t] + at + 4 * Step);
    tile_steps<Step + 1, End, T>(dot, codes, x, at);
  }
}

// Sixteen columns of a sub-scaled format.
template <int Step, int Half, int T, class D>
HZ_FN void tile_half(D* dot, const uint8_t* codes, const int8_t* const* x, int64_t at, const SubScales& scales,
                     const int32_t* const* start) {
  if constexpr (Step < 4) {
    const Codes w = load_codes(codes + 256 * Half + Step * 64);
    for (int t = 0; t < T; ++t) dot[t].template step<Step, Half>(w, x[t] + at + 16 * Half + 4 * Step, scales);
    tile_half<Step + 1, Half, T>(dot, codes, x, at, scales, start);
  } else {
    for (int t = 0; t < T; ++t) dot[t].template end<Half>(scales, start[t]);
  }
}

// What a tile needs of each token and block of the panel (at most kSlab columns), the same for all rows: with S, the sum of the
// block's activations, low * S, where the integer sum begins, and S times the activation's scale, which the minimum is multiplied by.
// Sub-scaled formats: a start for each sixteen columns.
template <int T>
struct TileStarts {
  int32_t start[T][kSlab / 16];
  float min_factor[T][kSlab / 32];
};
template <int T, int Kind>
HZ_FN void tile_starts(const IntPanel& p, const ActRow* x, int64_t first_block, TileStarts<T>& out) {
  const int wide = Kind == kStep16 ? 1 : 2;  // sums of sixteen columns in a block
  for (int t = 0; t < T; ++t) {
    const int32_t* sums = x[t].sums + first_block * wide;
    if constexpr (Kind == kStep16 || is_sub(Kind))
      for (int64_t i = 0; i < p.blocks * wide; ++i) out.start[t][i] = p.low * sums[i];
    else
      for (int64_t b = 0; b < p.blocks; ++b) out.start[t][b] = p.low * (sums[2 * b] + sums[2 * b + 1]);
    if constexpr (Kind == kMinGroup) {
      const float* scales = x[t].scales + first_block;
      for (int64_t b = 0; b < p.blocks; ++b) out.min_factor[t][b] = (float)(sums[2 * b] + sums[2 * b + 1]) * scales[b];
    }
  }
}

template <int Top, int T, int Kind>
HZ_FN void int_tile_group(const IntPanel& p, int group, const ActRow* x, int64_t first_block, const TileStarts<T>& starts, float* const* y,
                          bool carry) {
  constexpr bool kSub = is_sub(Kind);
  constexpr int kSteps = Kind == kStep16 ? 4 : 8;  // code vectors per dot
  const int row = group * kLanes;
  const int8_t* codes[T];
  V sum[T];
  for (int t = 0; t < T; ++t) {
    codes[t] = x[t].codes;
    sum[t] = carry ? load(y[t] + row) : set1(0.0f);
  }
  for (int64_t b = 0; b < p.blocks; ++b) {
    // With 16-wide steps two panel blocks share one activation group.
    const int64_t k = Kind == kStep16 ? (first_block + b) * 16 : (first_block + b) * 32, act = k / 32;
    const uint8_t* w = p.codes + b * (Kind == kStep16 ? 256 : 512) + row * 4;
    const V dw = load(p.dw + b * 16 + row);
    V whole[T];
    if constexpr (kSub) {
      const SubScales s = sub_scales(load_i(p.sub + b * 64 + row), load_i(p.sub + b * 64 + 16 + row), p.low);
      const int32_t* start[T];
      SubDot<Top> dot[T];
      for (int t = 0; t < T; ++t) dot[t] = SubDot<Top>::start(s, x[t].sums + 2 * act, start[t] = starts.start[t] + 2 * b);
      tile_half<0, 0, T>(dot, w, codes, k, s, start);
      tile_half<0, 1, T>(dot, w, codes, k, s, start);
      for (int t = 0; t < T; ++t) whole[t] = dot[t].value();
    } else {
      Dot<Top> dot[T];
      for (int t = 0; t < T; ++t) dot[t] = Dot<Top>::start(starts.start[t][b]);
      tile_steps<0, kSteps, T>(dot, w, codes, k);
      for (int t = 0; t < T; ++t) whole[t] = to_float(dot[t].finish(starts.start[t][b]));
    }
    for (int t = 0; t < T; ++t) {
      const V dx = set1(x[t].scales[act]);
      sum[t] = fma(whole[t], mul(dw, dx), sum[t]);
    }
    if constexpr (Kind == kMinGroup) {
      const V mw = load(p.mw + b * 16 + row);
      for (int t = 0; t < T; ++t) sum[t] = fma(mw, set1(starts.min_factor[t][b]), sum[t]);
    }
    if constexpr (Kind == kSubMin) {
      const ScalePair m = scale_pair(load_i(p.sub + b * 64 + 32 + row), load_i(p.sub + b * 64 + 48 + row));
      const V mw = load(p.mw + b * 16 + row);
      for (int t = 0; t < T; ++t) {
        sum[t] = fma(to_float(pair_products(m, x[t].sums + 2 * act)), mul(mw, set1(x[t].scales[act])), sum[t]);
      }
    }
  }
  for (int t = 0; t < T; ++t) store(y[t] + row, sum[t]);
}

template <int Top, int Kind>
HZ_FN void int_tile_kind(const IntPanel& p, const ActRow* x, int64_t first_block, int tokens, float* const* y, bool carry) {
  int t = 0;
  auto run = [&]<int T>() {
    TileStarts<T> starts;
    tile_starts<T, Kind>(p, x + t, first_block, starts);
    for (int g = 0; g < kRowGroups; ++g) int_tile_group<Top, T, Kind>(p, g, x + t, first_block, starts, y + t, carry);
    t += T;
  };
  while (t + kTileTokens<Top, Kind> <= tokens) run.template operator()<kTileTokens<Top, Kind>>();
  if constexpr (kTileTokens<Top, Kind> > 4)
    while (t + 4 <= tokens) run.template operator()<4>();
  while (t < tokens) run.template operator()<1>();
}

// Float weights: w [k][16], y = fma(w, x, y).
template <int G, int T>
HZ_FN void float_tile_rows(const float* w, int row, const float* const* x, int64_t k, float* const* y, bool carry) {
  V sum[T][G];
  for (int t = 0; t < T; ++t)
    for (int g = 0; g < G; ++g) sum[t][g] = carry ? load(y[t] + row + g * kLanes) : set1(0.0f);
  for (int64_t i = 0; i < k; ++i) {
    V wi[G];
    for (int g = 0; g < G; ++g) wi[g] = load(w + i * 16 + row + g * kLanes);
    for (int t = 0; t < T; ++t) {
      const V xi = set1(x[t][i]);
      for (int g = 0; g < G; ++g) sum[t][g] = fma(wi[g], xi, sum[t][g]);
    }
  }
  for (int t = 0; t < T; ++t)
    for (int g = 0; g < G; ++g) store(y[t] + row + g * kLanes, sum[t][g]);
}
static void float_tile(const float* w, const float* const* x, int64_t k, int tokens, float* const* y, bool carry) {
  constexpr int kMost = kLanes == 1 ? 4 : kLanes == 8 ? 6 : 12, kGroups = kLanes == 8 ? 2 : 1;  // at most twelve sums
  int t = 0;
  auto run = [&]<int T>() {
    for (int row = 0; row < 16; row += kGroups * kLanes) float_tile_rows<kGroups, T>(w, row, x + t, k, y + t, carry);
    t += T;
  };
  while (t + kMost <= tokens) run.template operator()<kMost>();
  while (t + 4 <= tokens) run.template operator()<4>();
  while (t < tokens) run.template operator()<1>();
}

}  // namespace HZ_UNIT
}  // namespace hz::cpu
