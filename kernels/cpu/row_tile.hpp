// SPDX-License-Identifier: Apache-2.0
// Products of few tokens straight from GGUF bytes: kLanes rows at a time are decoded, a span of columns each; then lanes = rows.
#pragma once

namespace hz::cpu {
inline namespace HZ_UNIT {

template <class W>
concept Codebook = requires { W::kPoint; };

template <class W>
concept Valued = requires { W::values(); };

// A span of kLanes rows. What was stored is in the cache by the time it is read in wider pieces.
template <class W>
struct RowTile {
  static constexpr int kWeights = W::kElems > 256 ? W::kElems : 256, kMost = kWeights / W::kStep, kWords = kWeights / 32;
  static_assert(kWeights % W::kElems == 0);
  alignas(64) int8_t codes[kLanes][kWeights];   // of a codebook: the bytes of its points
  alignas(64) uint32_t signs[kLanes][kWords];   // of a codebook
  alignas(64) float dw[kMost][kLanes], mw[kMost][kLanes];
  alignas(64) int32_t s0[kMost][kLanes], s1[kMost][kLanes], m0[kMost][kLanes], m1[kMost][kLanes];

  // `weights` columns of row r.
  void read(int r, const typename W::Block* block, int weights) {
    for (int g = 0; g < weights / W::kStep; ++block) {
      if constexpr (Codebook<W>) read_points(r, *block, g);
      for (int j = 0; j < Traits<W>::kGroups; ++j, ++g) {
        if constexpr (Valued<W>) W::indices(*block, j, (uint8_t*)codes[r] + g * W::kStep);
        else if constexpr (!Codebook<W>) W::codes(*block, j, codes[r] + g * W::kStep);
        put(r, g, W::scales(*block, j));
      }
    }
    if constexpr (Valued<W>) look_up((uint8_t*)codes[r], weights);
  }
  // Indices become values.
  static void look_up(uint8_t* at, int weights) {
    alignas(16) static constexpr auto table = W::values();
    for (int i = 0; i < weights; i += (int)sizeof(Codes)) store_codes(at + i, lookup_codes(load_codes(at + i), (const uint8_t*)table.at));
  }
  void read_points(int r, const typename W::Block& block, int g) {
    constexpr int point = W::kPoint;
    uint16_t at[W::kElems / point];
    W::points(block, at);
    asm("" : "+m"(at));  // through memory: left alone, GCC takes the indices out of vectors one by one
#pragma GCC unroll 64
    for (int i = 0; i < W::kElems / point; ++i) memcpy(codes[r] + g * W::kStep + i * point, &W::grid().at[at[i]], point);
    W::signs(block, signs[r] + g);
  }
  void put(int r, int g, const quant::GroupScales& scales) {
    dw[g][r] = scales.dw;
    if constexpr (W::kMin != quant::Min::none) mw[g][r] = scales.mw;
    if constexpr (W::kSub) {
      s0[g][r] = scales.s0;
      s1[g][r] = scales.s1;
    }
    if constexpr (W::kMin == quant::Min::per_half) {
      m0[g][r] = scales.m0;
      m1[g][r] = scales.m1;
    }
  }

  // 32 columns from 32 g on times those of one token at k, onto y, by the rule of the contract.
  V product(int g, const ActRow& x, int64_t k, V y) const {
    VI a, b;
    if constexpr (Codebook<W>) dot32_points_rows<W::kShifted>(codes[0] + 32 * g, kWeights, signs[0] + g, kWords, x.codes + k, a, b);
    else dot32_rows(codes[0] + 32 * g, kWeights, x.codes + k, a, b);
    const float dx = x.scales[k / 32];
    if constexpr (W::kStep == 16) {
      y = fma(to_float(a), mul(load(dw[2 * g]), set1(dx)), y);
      return fma(to_float(b), mul(load(dw[2 * g + 1]), set1(dx)), y);
    } else {
      const VI whole = W::kSub ? add_i(mul_i(a, load_i(s0[g])), mul_i(b, load_i(s1[g]))) : add_i(a, b);
      y = fma(to_float(whole), mul(load(dw[g]), set1(dx)), y);
      const int32_t x0 = x.sums[k / 16], x1 = x.sums[k / 16 + 1];
      if constexpr (W::kMin == quant::Min::per_group) y = fma(load(mw[g]), set1((float)(x0 + x1) * dx), y);
      if constexpr (W::kMin == quant::Min::per_half) {
        const VI m = add_i(mul_i(load_i(m0[g]), set1_i(x0)), mul_i(load_i(m1[g]), set1_i(x1)));
        y = fma(to_float(m), mul(load(mw[g]), set1(dx)), y);
      }
      return y;
    }
  }
};

// Rows [r, r + rows) of up to kTokens tokens; the lanes beyond repeat the last row and are thrown away.
template <class W, int kTokens>
HZ_FN void matvec_row_tile(RowTile<W>& tile, const std::byte* rows, size_t stride, int count, int64_t k, const ActRow* x, int tokens,
                           float* const* y, int64_t r) {
  V sum[kTokens];
  for (int t = 0; t < kTokens; ++t) sum[t] = set1(0.0f);
  for (int64_t at = 0; at < k; at += RowTile<W>::kWeights) {
    const int weights = (int)(k - at < RowTile<W>::kWeights ? k - at : RowTile<W>::kWeights);
    for (int i = 0; i < kLanes; ++i) tile.read(i, block_at<W>(rows, stride, r + (i < count ? i : count - 1), at), weights);
    for (int g = 0; g < weights / 32; ++g)
      for (int t = 0; t < kTokens; ++t)
        if (t < tokens) sum[t] = tile.product(g, x[t], at + 32 * g, sum[t]);
  }
  for (int t = 0; t < kTokens; ++t)
    if (t < tokens) store_first(y[t] + r, sum[t], count);
}

template <class W>
static void matvec_rows(const std::byte* rows, size_t stride, int64_t count, int64_t k, const ActRow* x, int tokens, float* const* y) {
  RowTile<W> tile;
  for (int64_t r = 0; r < count; r += kLanes) {
    const int n = (int)(count - r < kLanes ? count - r : kLanes);
    if (tokens == 1) matvec_row_tile<W, 1>(tile, rows, stride, n, k, x, 1, y, r);
    else
      for (int t = 0; t < tokens; t += 4)
        matvec_row_tile<W, 4>(tile, rows, stride, n, k, x + t, tokens - t < 4 ? tokens - t : 4, y + t, r);
  }
}

}  // namespace HZ_UNIT
}  // namespace hz::cpu
