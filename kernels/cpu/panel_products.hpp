// SPDX-License-Identifier: Apache-2.0
// What is computed from packed panels: expansion for tiles of tokens, and products of a few tokens.
#pragma once

namespace hz::cpu {
inline namespace HZ_UNIT {

constexpr int kAhead = 2048;  // bytes that are asked for before they are read

// Steps [Begin, End) of a 32-group into the dots of T tokens; x[t] points at the group's activations.
template <class W, int Begin, int End, int Base, int T, class D>
HZ_FN void panel_steps(D* dot, const uint8_t* group, int row, const int8_t* const* x, int64_t k) {
  if constexpr (Begin < End) {
    const Codes w = panel_codes<W, Begin>(group, row);
    for (int t = 0; t < T; ++t) dot[t].template step<Begin - Base>(w, x[t] + k + 4 * Begin);
    panel_steps<W, Begin + 1, End, Base, T>(dot, group, row, x, k);
  }
}

// One 32-group of kLanes rows for T tokens, by the rule of the contract.
template <class W, int T>
HZ_FN void panel_group(const LaneBytes<W>& head, int j, const uint8_t* group, int row, const ActRow* x, const int8_t* const* codes,
                       int64_t k, V* sum) {
  constexpr int top = Traits<W>::kTop;
  using D = Dot<top>;
  D a[T], b[T];
  constexpr bool kHalves = W::kSub || W::kStep == 16;
  int32_t first[T], second[T];
  for (int t = 0; t < T; ++t) {
    const int32_t* s = x[t].sums + k / 16;
    a[t] = D::start(first[t] = Traits<W>::kLow * (kHalves ? s[0] : s[0] + s[1]));
    b[t] = D::start(second[t] = kHalves ? Traits<W>::kLow * s[1] : 0);
  }
  panel_steps<W, 0, 4, 0, T>(a, group, row, codes, k);
  panel_steps<W, 4, 8, 4, T>(b, group, row, codes, k);
  const GroupRule<W> rule(head, j);
  for (int t = 0; t < T; ++t) sum[t] = rule.add(a[t].finish(first[t]), b[t].finish(second[t]), x[t], k, sum[t]);
}

// All sixteen rows of a block before the next block: memory is read once, in order, and never waits for a second pass.
template <class W, int T>
HZ_FN void matvec_packed_tokens(const std::byte* panel, int64_t k, const ActRow* x, float* const* y) {
  using L = PanelLayout<W>;
  constexpr int kHalves = 16 / kLanes;  // vectors of rows
  const int8_t* codes[T];
  for (int t = 0; t < T; ++t) codes[t] = x[t].codes;
  V sum[kHalves][T];
  for (int h = 0; h < kHalves; ++h)
    for (int t = 0; t < T; ++t) sum[h][t] = set1(0.0f);
  const auto* at = (const uint8_t*)panel;
  for (int64_t b = 0; b < k; b += W::kElems, at += L::kBytes) {
    prefetch_bytes(at + kAhead, L::kBytes);
#pragma GCC unroll 2
    for (int h = 0; h < kHalves; ++h) {
      const LaneBytes<W> head{at, h * kLanes};
#pragma GCC unroll 8
      for (int j = 0; j < W::kElems / 32; ++j)
        panel_group<W, T>(head, j, at + L::kHeadBytes + j * L::kGroupBytes, h * kLanes, x, codes, b + 32 * j, sum[h]);
    }
  }
  for (int h = 0; h < kHalves; ++h)
    for (int t = 0; t < T; ++t) store(y[t] + h * kLanes, sum[h][t]);
}

template <class W>
static void matvec_packed(const std::byte* panel, int64_t k, const ActRow* x, int tokens, float* const* y) {
  int t = 0;
  for (; t + 2 <= tokens; t += 2) matvec_packed_tokens<W, 2>(panel, k, x + t, y + t);
  if (t < tokens) matvec_packed_tokens<W, 1>(panel, k, x + t, y + t);
}

// kLanes rows of W::kStep columns of a packed panel, which begin at step First of the 32 columns at `at`, as tile_group reads them
// (tile.hpp). Of folded formats, for each half: the scale of each row, and what a code of 0 gives, in each byte.
template <class W, int First>
struct PackedGroup {
  const uint8_t* at;
  int row;
  decltype(W::scales_of(*(const LaneBytes<W>*)nullptr, 0)) s;
  VI factor[2], offset[2];

  PackedGroup(const LaneBytes<W>& head, int j, const uint8_t* from, int first_row) : at(from), row(first_row), s(W::scales_of(head, j)) {
    if constexpr (TileTraits<W>::kFolded) {
      fold(0, s.s0.v);
      fold(1, s.s1.v);
    }
  }
  void fold(int half, VI scale) {
    factor[half] = code_factor(scale);
    const VI low = add_i(mul_i(scale, set1_i(Traits<W>::kLow)), set1_i(-TileTraits<W>::kLow));
    offset[half] = mul_i(low, set1_i(0x01010101));
  }
  template <int Step> Codes codes() const {
    const Codes c = panel_codes<W, First + Step>(at, row);
    if constexpr (TileTraits<W>::kFolded) return scaled_codes(c, factor[Step / 4], offset[Step / 4]);
    else return c;
  }
  V dw() const { return s.dw; }
  V mw() const { return s.mw; }
  SubScales sub() const { return sub_scales(s.s0.v, s.s1.v, TileTraits<W>::kLow); }
  ScalePair mins() const { return scale_pair(s.m0.v, s.m1.v); }

  template <int Step = 0>
  void store_codes_to(uint8_t* out) const {
    if constexpr (Step < W::kStep / 4) {
      store_codes(out + Step * 64 + row * 4, codes<Step>());
      store_codes_to<Step + 1>(out);
    }
  }
  void store_to(IntPanel& p, int64_t b) const {
    store(p.dw + b * 16 + row, s.dw);
    if constexpr (W::kMin != quant::Min::none) store(p.mw + b * 16 + row, s.mw);
    if constexpr (TileTraits<W>::kSub) {
      store_i(p.sub + b * 64 + row, s.s0.v);
      store_i(p.sub + b * 64 + 16 + row, s.s1.v);
    }
    if constexpr (W::kMin == quant::Min::per_half) {
      store_i(p.sub + b * 64 + 32 + row, s.m0.v);
      store_i(p.sub + b * 64 + 48 + row, s.m1.v);
    }
    store_codes_to(p.codes + b * W::kStep * 16);
  }
};

// each(group of W::kStep columns, which of them in the block, which of two in 32 columns) for kLanes rows of a packed block.
template <class W, class F>
HZ_FN void each_packed_group(const uint8_t* at, int row, F&& each) {
  using L = PanelLayout<W>;
  const LaneBytes<W> head{at, row};
#pragma GCC unroll 8
  for (int g = 0; g < W::kElems / 32; ++g) {
    const uint8_t* codes = at + L::kHeadBytes + g * L::kGroupBytes;
    if constexpr (W::kStep == 16) {
      each(PackedGroup<W, 0>(head, 2 * g, codes, row), 2 * g, 0);
      each(PackedGroup<W, 4>(head, 2 * g + 1, codes, row), 2 * g + 1, 1);
    } else {
      each(PackedGroup<W, 0>(head, g, codes, row), g, 0);
    }
  }
}

// k0 and k1 are multiples of the format's block.
template <class W>
static void expand_packed(const std::byte* panel, int64_t k0, int64_t k1, IntPanel& p) {
  using L = PanelLayout<W>;
  p.low = TileTraits<W>::kLow;
  p.blocks = (k1 - k0) / W::kStep;
  const auto* at = (const uint8_t*)panel + k0 / W::kElems * L::kBytes;
  for (int64_t k = 0; k < k1 - k0; k += W::kElems, at += L::kBytes)
    for (int row = 0; row < 16; row += kLanes)
      each_packed_group<W>(at, row, [&](const auto& group, int j, int) { group.store_to(p, k / W::kStep + j); });
}

// What expand_packed and the tile kernel give, for the tokens of one tile: codes go from the panel into the dots and are kept nowhere,
// so that weights are made while others are waited for.
template <class W, int T, int Kind>
HZ_FN void packed_tile_rows(const uint8_t* at, int row, int64_t k, const ActGroup<T, Kind>* x, float* const* y) {
  V sum[T];
  for (int t = 0; t < T; ++t) sum[t] = set1(0.0f);
  for (int64_t b = 0; b < k / 32; b += W::kElems / 32, at += PanelLayout<W>::kBytes) {
    prefetch_bytes(at + kAhead, PanelLayout<W>::kBytes);
    each_packed_group<W>(at, row, [&](const auto& group, int j, int half) {
      tile_group<TileTraits<W>::kTop, T, Kind>(group, x[b + (Kind == kStep16 ? j / 2 : j)], half, sum);
    });
  }
  for (int t = 0; t < T; ++t) store(y[t] + row, sum[t]);
}
template <class W>
static void packed_tile(const std::byte* panel, int64_t k, const std::byte* acts, int tokens, float* const* y) {
  constexpr int Kind = kVariant<W>;
  each_tile<kTileTokens<TileTraits<W>::kTop, Kind>, kPackedTileTokens>(tokens, [&]<int T>(int t) {
    const auto* x = (const ActGroup<T, Kind>*)(acts + act_place<T, Kind>(k / 32, t, 0));
    for (int row = 0; row < 16; row += kLanes) packed_tile_rows<W, T, Kind>((const uint8_t*)panel, row, k, x, y + t);
  });
}

template <class W, int Step>
HZ_FN void float_steps(const uint8_t* group, int row, const V* d, const V* m, float* out) {
  if constexpr (Step < 8) {
    const VI four = code_lanes(panel_codes<W, Step>(group, row));
    for (int i = 0; i < 4; ++i) {
      const VI code = add_i(and_i(shr_by(four, 8 * i), set1_i(255)), set1_i(Traits<W>::kLow));
      V v = mul(d[Step / 4], to_float(code));
      if constexpr (W::kMin != quant::Min::none) v = add(v, m[Step / 4]);
      store(out + (4 * Step + i) * 16 + row, v);
    }
    float_steps<W, Step + 1>(group, row, d, m, out);
  }
}

// Decoded to floats [k1 - k0][16]: (dw * s) * code + minimum, each rounded.
template <class W>
static void expand_float_packed(const std::byte* panel, int64_t k0, int64_t k1, float* out) {
  using L = PanelLayout<W>;
  const auto* at = (const uint8_t*)panel + k0 / W::kElems * L::kBytes;
  for (int64_t k = 0; k < k1 - k0; k += W::kElems, at += L::kBytes)
    for (int row = 0; row < 16; row += kLanes) {
      const LaneBytes<W> head{at, row};
#pragma GCC unroll 8
      for (int g = 0; g < W::kElems / 32; ++g) {
        V d[2], m[2];
        const auto s = W::scales_of(head, W::kStep == 16 ? 2 * g : g), second = W::kStep == 16 ? W::scales_of(head, 2 * g + 1) : s;
        d[0] = s.dw;
        d[1] = second.dw;
        if constexpr (W::kSub) {
          d[0] = mul(s.dw, to_float(s.s0.v));
          d[1] = mul(s.dw, to_float(s.s1.v));
        }
        m[0] = m[1] = s.mw;
        if constexpr (W::kMin == quant::Min::per_half) {
          m[0] = mul(s.mw, to_float(s.m0.v));
          m[1] = mul(s.mw, to_float(s.m1.v));
        }
        float_steps<W, 0>(at + L::kHeadBytes + g * L::kGroupBytes, row, d, m, out + (k + 32 * g) * 16);
      }
    }
}

// Float formats: a panel is [k][16 rows] of the format's own elements.
template <class W>
static void pack_floats(const std::byte* rows, size_t stride, int count, int64_t k, std::byte* panel) {
  using B = typename W::Block;
  auto* out = (B*)panel;
  for (int r = 0; r < 16; ++r)
    for (int64_t i = 0; i < k; ++i) out[i * 16 + r] = r < count ? ((const B*)(rows + (size_t)r * stride))[i] : B{0};
}
template <class W>
static void unpack_floats(const std::byte* panel, int count, int64_t k, std::byte* rows, size_t stride) {
  using B = typename W::Block;
  for (int r = 0; r < count; ++r)
    for (int64_t i = 0; i < k; ++i) ((B*)(rows + (size_t)r * stride))[i] = ((const B*)panel)[i * 16 + r];
}
template <class W>
HZ_FN V load_values(const typename W::Block* p) {
  if constexpr (sizeof(typename W::Block) == 4) return load((const float*)p);
  else if constexpr (requires { W::kBrain; }) return load_bf16((const uint16_t*)p);
  else return load_half((const uint16_t*)p);
}
template <class W>
static void expand_floats_packed(const std::byte* panel, int64_t k0, int64_t k1, float* out) {
  const auto* in = (const typename W::Block*)panel + k0 * 16;
  for (int64_t i = 0; i < (k1 - k0) * 16; i += kLanes) store(out + i, load_values<W>(in + i));
}

// Few tokens, four panels at a time: four chains hide the latency of the fma.
template <class W, int P>
HZ_FN void float_matvec_panels(const std::byte* const* panels, int64_t k, const float* x, float* y) {
  for (int row = 0; row < 16; row += kLanes) {
    V sum[P];
    for (int p = 0; p < P; ++p) sum[p] = set1(0.0f);
    for (int64_t i = 0; i < k; ++i) {
      const V xi = set1(x[i]);
      for (int p = 0; p < P; ++p) sum[p] = fma(load_values<W>((const typename W::Block*)panels[p] + i * 16 + row), xi, sum[p]);
    }
    for (int p = 0; p < P; ++p) store(y + p * 16 + row, sum[p]);
  }
}
template <class W>
static void float_matvec(const std::byte* first, size_t panel_bytes, int panels, int64_t k, const float* x, float* y) {
  const std::byte* at[4];
  int p = 0;
  for (; p + 4 <= panels; p += 4) {
    for (int i = 0; i < 4; ++i) at[i] = first + (size_t)(p + i) * panel_bytes;
    float_matvec_panels<W, 4>(at, k, x, y + p * 16);
  }
  for (; p < panels; ++p) {
    at[0] = first + (size_t)p * panel_bytes;
    float_matvec_panels<W, 1>(at, k, x, y + p * 16);
  }
}

}  // namespace HZ_UNIT
}  // namespace hz::cpu
