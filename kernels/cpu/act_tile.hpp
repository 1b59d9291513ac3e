// SPDX-License-Identifier: Apache-2.0
// Activations as the tile kernels read them: what a tile of T tokens has of one group of 32 columns lies together, so that one
// pointer reaches all of it at fixed distances (the registers hold no pointer for each token), and rows of activations whose
// distance is a power of two do not contend for one set of a cache. Packed once a product, read by every panel.
#pragma once

namespace hz::cpu {
inline namespace HZ_UNIT {

// Tokens that fit the registers beside their float sums; sub-scaled formats have two integer sums a token.
template <int Top, int Kind>
constexpr int kTileTokens = kLanes == 16 ? (Kind == kSubScaled ? 8 : 12) : kLanes == 8 ? (Top > 128 || Top <= 16 ? 6 : 4) : 2;

// Up to this many tokens weights are used as they are unpacked (panel_products.hpp); not in scalar code.
constexpr int kPackedTileTokens = kLanes == 1 ? 0 : 8;

// Calls run.operator()<T>() for tiles of Most, 8, 4 tokens and single ones, as long as each fits into what is left of `tokens`, which
// are at most Limit where that is less than Most.
template <int Most, int Limit = Most, class Run>
HZ_FN void each_tile(int tokens, Run&& run) {
  int t = 0;
  if constexpr (Most <= Limit)
    for (; t + Most <= tokens; t += Most) run.template operator()<Most>(t);
  if constexpr (Most > 8)
    for (; t + 8 <= tokens; t += 8) run.template operator()<8>(t);
  if constexpr (Most > 4)
    for (; t + 4 <= tokens; t += 4) run.template operator()<4>(t);
  for (; t < tokens; ++t) run.template operator()<1>(t);
}

template <int T, int Kind> struct ActExtra {};
template <int T> struct ActExtra<T, kMinGroup> {
  float min_factors[T];  // sum of the group's activations times their scale: what the minimum is multiplied by
};
template <int T> struct ActExtra<T, kSubScaled> {
  int16_t sums[T][2];  // of sixteen activations each: at most 2032
};
template <int T> struct ActExtra<T, kHalfMin> : ActExtra<T, kSubScaled> {};

template <int T, int Kind>
struct ActGroup : ActExtra<T, Kind> {
  static constexpr bool kHalves = Kind == kStep16 || Kind == kSubScaled;
  int8_t codes[T][32];
  float scales[T];
  int32_t starts[T][kHalves ? 2 : 1];  // value of code 0 times the sum of the activations: where the integer sums begin
};

template <int T, int Kind>
HZ_FN void pack_group(const ActRow* x, int64_t group, int low, ActGroup<T, Kind>& out) {
  for (int t = 0; t < T; ++t) {
    const int32_t *sums = x[t].sums + 2 * group, s0 = sums[0], s1 = sums[1];
    memcpy(out.codes[t], x[t].codes + 32 * group, 32);
    out.scales[t] = x[t].scales[group];
    if constexpr (ActGroup<T, Kind>::kHalves) {
      out.starts[t][0] = low * s0;
      out.starts[t][1] = low * s1;
    } else {
      out.starts[t][0] = low * (s0 + s1);
    }
    if constexpr (Kind == kMinGroup) out.min_factors[t] = (float)(s0 + s1) * out.scales[t];
    if constexpr (Kind == kSubScaled || Kind == kHalfMin) {
      out.sums[t][0] = (int16_t)s0;
      out.sums[t][1] = (int16_t)s1;
    }
  }
}

// Bytes of one token and group, in a tile of any number of tokens.
template <int Kind>
constexpr int64_t kActBytes = sizeof(ActGroup<1, Kind>);

// The byte where the tile that begins at token t has its group, in activations of `groups` groups packed tile after tile.
template <int T, int Kind>
HZ_FN int64_t act_place(int64_t groups, int64_t t, int64_t group) {
  static_assert(sizeof(ActGroup<T, Kind>) == T * kActBytes<Kind>);
  return (t * groups + T * group) * kActBytes<Kind>;
}

template <int Most, int Kind>
HZ_FN void pack_act_tiles(const ActRow* x, int tokens, int64_t groups, int low, std::byte* out) {
  each_tile<Most>(tokens, [&]<int T>(int t) {
    auto* to = (ActGroup<T, Kind>*)(out + act_place<T, Kind>(groups, t, 0));
    for (int64_t g = 0; g < groups; ++g) pack_group<T, Kind>(x + t, g, low, to[g]);
  });
}

// The same of float activations: tiles of [k][T].
constexpr int kFloatTokens = kLanes == 1 ? 4 : kLanes == 8 ? 6 : 12;
constexpr int kFloatPanels = kLanes == 16 ? kMostFloatPanels : 1;

static void pack_float_acts(const float* const* x, int64_t k, int tokens, float* out) {
  each_tile<kFloatTokens>(tokens, [&]<int T>(int t) {
    float* to = out + t * k;
    for (int64_t i = 0; i < k; ++i)
      for (int j = 0; j < T; ++j) to[i * T + j] = x[t + j][i];
  });
}

}  // namespace HZ_UNIT
}  // namespace hz::cpu
