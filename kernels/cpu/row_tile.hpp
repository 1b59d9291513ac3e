// SPDX-License-Identifier: Apache-2.0
// Products of few tokens straight from GGUF bytes: kLanes rows at a time are decoded, a span of columns each; then lanes = rows.
#pragma once

namespace hz::cpu {
inline namespace HZ_UNIT {

template <class W>
concept Codebook = requires { W::kPoint; };

template <class W>
concept Valued = requires { W::values(); };

// The form whose head a tile keeps.
template <class W>
struct FormOf {
  using type = W;
};
template <Codebook W>
struct FormOf<W> {
  using type = quant::Expanded<W>;
};

// A span of kLanes rows. What was stored is in the cache by the time it is read in wider pieces.
template <class W>
struct RowTile {
  using Form = typename FormOf<W>::type;
  static constexpr int kWeights = W::kElems > 256 ? W::kElems : 256, kWords = kWeights / 32, kBlocks = kWeights / W::kElems;
  static_assert(kWeights % W::kElems == 0);
  static constexpr int kBytes = kLanes * kBlocks * (int)sizeof(typename W::Block);  // of the file's
  alignas(64) int8_t codes[kLanes][kWeights];   // of a codebook: the bytes of its points
  alignas(64) uint32_t signs[kLanes][kWords];   // of a codebook
  alignas(64) uint8_t heads[kBlocks][HeadLayout<Form>::kBytes];

  // `weights` columns of row r.
  void read(int r, const typename W::Block* block, int weights) {
    for (int b = 0; b < weights / W::kElems; ++b, ++block) {
      int8_t* out = codes[r] + b * W::kElems;
      put_head<Form>(*block, r, heads[b]);
      if constexpr (Codebook<W>) read_points(*block, out, signs[r] + b * (W::kElems / 32));
      else
        for (int j = 0; j < Traits<W>::kGroups; ++j) {
          if constexpr (Valued<W>) W::indices(*block, j, (uint8_t*)out + j * W::kStep);
          else W::codes(*block, j, out + j * W::kStep);
        }
    }
    if constexpr (Valued<W>) look_up((uint8_t*)codes[r], weights);
  }
  // Indices become values.
  static void look_up(uint8_t* at, int weights) {
    alignas(16) static constexpr auto table = W::values();
    for (int i = 0; i < weights; i += (int)sizeof(Codes)) store_codes(at + i, lookup_codes(load_codes(at + i), (const uint8_t*)table.at));
  }
  // Four points.
  static void look_up_points(const uint16_t* at, int8_t* out) {
    uint64_t four;
    memcpy(&four, at, 8);
    asm("" : "+r"(four));  // in a register: left alone, GCC makes vectors of indices and takes them out one by one
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) memcpy(out + i * W::kPoint, &W::grid().at[four >> (16 * i) & 0xffff], W::kPoint);
  }
  static void read_points(const typename W::Block& block, int8_t* out, uint32_t* minus) {
    constexpr int groups = W::kElems / W::kStep, each = W::kStep / W::kPoint;
#pragma GCC unroll 8
    for (int j = 0; j < groups; ++j) {
      uint16_t at[each];
      W::points(block, j, at);
#pragma GCC unroll 2
      for (int i = 0; i < each; i += 4) look_up_points(at + i, out + j * W::kStep + i * W::kPoint);
    }
    for (int j = 0; j < groups; ++j) minus[j] = W::signs(block, j);
  }

  // 32 columns from 32 g on times those of `tokens` (at most kTokens) at k, onto y.
  template <int kTokens>
  void product(int g, const ActRow* x, int tokens, int64_t k, V* y) const {
    constexpr int words = W::kElems / 32;
    const GroupRule<Form> rule(LaneBytes<Form>{heads[g / words], 0}, g % words);
    for (int t = 0; t < kTokens; ++t) {
      if (t >= tokens) break;
      VI a, b;
      if constexpr (Codebook<W>) dot32_points_rows<W::kShifted>(codes[0] + 32 * g, kWeights, signs[0] + g, kWords, x[t].codes + k, a, b);
      else dot32_rows(codes[0] + 32 * g, kWeights, x[t].codes + k, a, b);
      y[t] = rule.add(a, b, x[t], k, y[t]);
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
    const auto* next = (const char*)block_at<W>(rows, stride, r + kLanes, 0) + at / RowTile<W>::kWeights * RowTile<W>::kBytes;
    prefetch_bytes(next, RowTile<W>::kBytes);  // a share of the next tile
    for (int i = 0; i < kLanes; ++i) tile.read(i, block_at<W>(rows, stride, r + (i < count ? i : count - 1), at), weights);
    for (int g = 0; g < weights / 32; ++g) tile.template product<kTokens>(g, x, tokens, at + 32 * g, sum);
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
