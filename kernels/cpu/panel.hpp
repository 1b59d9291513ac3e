// SPDX-License-Identifier: Apache-2.0
// Packed panels: sixteen rows of a packable format with the same bits in another order, lanes = rows.
// Per GGUF block along k: the head (every byte of a Block that is no code), each unit of a HeadRange sixteen
// rows wide; then the raw codes as bit planes, 64 * kBits bytes for each 32 weights. A code of 5, 6 or 3 bits is
// a plane of 4, 4 or 2 low bits and one of 1, 2 or 1 high bits. In a plane of B bits, step v (weights 4v..4v+3)
// lies in vector v % B, field v / B; a vector holds [16 rows][4 weights] bytes.
// Codebook formats are packed as their expanded form, whose head and codes are derived from a Block.
#pragma once

namespace hz::cpu {
inline namespace HZ_UNIT {

// Integer lanes with operators, the I of scales_of.
struct LaneInt {
  VI v;
  friend LaneInt operator&(LaneInt a, LaneInt b) { return {and_i(a.v, b.v)}; }
  friend LaneInt operator|(LaneInt a, LaneInt b) { return {or_i(a.v, b.v)}; }
  friend LaneInt operator+(LaneInt a, LaneInt b) { return {add_i(a.v, b.v)}; }
  friend LaneInt operator&(LaneInt a, int b) { return {and_i(a.v, set1_i(b))}; }
  friend LaneInt operator+(LaneInt a, int b) { return {add_i(a.v, set1_i(b))}; }
  friend LaneInt operator-(LaneInt a, int b) { return {add_i(a.v, set1_i(-b))}; }
  friend LaneInt operator-(int a, LaneInt b) { return {sub_i(set1_i(a), b.v)}; }
  friend LaneInt operator~(LaneInt a) { return {sub_i(set1_i(-1), a.v)}; }
  friend LaneInt operator<<(LaneInt a, int n) { return {shl_by(a.v, n)}; }
  friend LaneInt operator>>(LaneInt a, int n) { return {shr_by(a.v, n)}; }  // of non-negative lanes
};

// Forms whose head and codes are not the bits of a Block (quant/format/expanded.h).
template <class W>
concept Expanding = requires { W::kBlockBytes; };

// Bytes of a row's head before range n.
template <class W>
constexpr int head_bytes(int n) {
  int bytes = 0;
  for (int i = 0; i < n; ++i) bytes += W::kHead[i].bytes;
  return bytes;
}

// The heads of sixteen rows of a block, each unit of a HeadRange sixteen rows wide.
template <class W>
struct HeadLayout {
  static constexpr int kRanges = (int)(sizeof(W::kHead) / sizeof(quant::HeadRange));
  static constexpr int kRow = head_bytes<W>(kRanges), kBytes = 16 * kRow;
  // Where head byte `at` of a Block is, for row 0; -1: it is none.
  static constexpr int position(int at) {
    for (int n = 0; n < kRanges; ++n) {
      const quant::HeadRange& r = W::kHead[n];
      if (at >= r.at && at < r.at + r.bytes) return (head_bytes<W>(n) + (at - r.at) / r.width * r.width) * 16 + (at - r.at) % r.width;
    }
    return -1;
  }
  // Calls copy(unit of the head's row r, the same of the block's bytes, its width) for each.
  template <int Range = 0, class Copy>
  HZ_FN void each_unit(int r, Copy copy) {
    if constexpr (Range < kRanges) {
      constexpr quant::HeadRange range = W::kHead[Range];
      constexpr int first = 16 * head_bytes<W>(Range);
#pragma GCC unroll 16
      for (int i = 0; i < range.bytes; i += range.width) copy(first + 16 * i + r * range.width, range.at + i, Width<range.width>{});
      each_unit<Range + 1>(r, copy);
    }
  }
  HZ_FN void put(const uint8_t* bytes, int r, uint8_t* head) {
    each_unit(r, [=](int to, int from, auto width) { memcpy(head + to, bytes + from, width.bytes); });
  }
  HZ_FN void take(const uint8_t* head, int r, uint8_t* bytes) {
    each_unit(r, [=](int from, int to, auto width) { memcpy(bytes + to, head + from, width.bytes); });
  }

 private:
  template <int N>
  struct Width {
    static constexpr int bytes = N;
  };
};

template <class W>
struct PanelLayout {
  static constexpr int kLowBits = W::kBits == 5 || W::kBits == 6 ? 4 : W::kBits == 3 ? 2 : W::kBits;
  static constexpr int kHighBits = W::kBits - kLowBits;
  static constexpr int kHeadBytes = HeadLayout<W>::kBytes;
  static_assert(Expanding<W> || kHeadBytes / 2 + W::kElems * W::kBits == (int)sizeof(typename W::Block) * 8,
                "every bit of a block is head or code");
  static constexpr int kGroupBytes = 64 * W::kBits;                         // codes of 16 rows and 32 weights
  static constexpr int64_t kBytes = kHeadBytes + W::kElems / 32 * kGroupBytes;  // of 16 rows and a block
};

// kLanes rows of a panel's head, from `row` on, as the argument of scales_of.
template <class W>
struct LaneBytes {
  using I = LaneInt;
  using F = V;
  const uint8_t* head;
  int row;
  I u8(int at) const { return {load_u8(head + HeadLayout<W>::position(at) + row)}; }
  I i8(int at) const { return {load_i8((const int8_t*)head + HeadLayout<W>::position(at) + row)}; }
  I u16(int at) const { return {load_u16((const uint16_t*)(head + HeadLayout<W>::position(at)) + row)}; }
  F half(int at) const { return load_half((const uint16_t*)(head + HeadLayout<W>::position(at)) + row); }
  static F to_float(I i) { return hz::cpu::to_float(i.v); }
  static F from_bits(I i) { return bits(i.v); }
  static I negative(I i) { return {sign_i(i.v)}; }
};

template <class W>
HZ_FN void put_head(const typename W::Block& block, int r, uint8_t* head) {
  if constexpr (Expanding<W>) {
    uint8_t bytes[HeadLayout<W>::kRow];
    W::head(block, bytes);
    HeadLayout<W>::put(bytes, r, head);
  } else {
    HeadLayout<W>::put((const uint8_t*)&block, r, head);
  }
}

template <class W>
HZ_FN void raw_codes(const typename W::Block& b, int j, uint8_t* out) {
  if constexpr (requires { W::values(); }) {
    W::indices(b, j, out);
  } else {
    int8_t codes[W::kStep];
    W::codes(b, j, codes);
    for (int i = 0; i < W::kStep; ++i) out[i] = (uint8_t)(codes[i] - Traits<W>::kLow);
  }
}

// Puts Bits bits of the four codes of step v, one a byte, into a plane.
template <int Bits>
HZ_FN void put_bits(uint8_t* plane, int v, int row, uint32_t four) {
  uint8_t* at = plane + v % Bits * 64 + row * 4;
  four = quant::load32(at) | four << (v / Bits * Bits);
  memcpy(at, &four, 4);
}
template <int Bits>
HZ_FN int get_bits(const uint8_t* plane, int v, int row, int i) {
  return (plane[v % Bits * 64 + row * 4 + i] >> (v / Bits * Bits)) & ((1 << Bits) - 1);
}

template <class W>
static void pack(const std::byte* rows, size_t stride, int count, int64_t k, std::byte* panel) {
  using L = PanelLayout<W>;
  memset(panel, 0, (size_t)(k / W::kElems * L::kBytes));
  for (int r = 0; r < count; ++r)
    for (int64_t b = 0; b < k / W::kElems; ++b) {
      const auto& block = *((const typename W::Block*)(rows + (size_t)r * stride) + b);
      auto* out = (uint8_t*)panel + b * L::kBytes;
      put_head<W>(block, r, out);
      uint8_t raw[W::kElems];
      for (int j = 0; j < W::kElems / W::kStep; ++j) raw_codes<W>(block, j, raw + j * W::kStep);
      out += L::kHeadBytes;
      for (int i = 0; i < W::kElems; i += 4) {
        constexpr uint32_t low = 0x01010101u * ((1 << L::kLowBits) - 1);
        uint8_t* group = out + i / 32 * L::kGroupBytes;
        const int v = i % 32 / 4;
        const uint32_t four = quant::load32(raw + i);
        put_bits<L::kLowBits>(group, v, r, four & low);
        if constexpr (L::kHighBits > 0) put_bits<L::kHighBits>(group + 64 * L::kLowBits, v, r, (four & ~low) >> L::kLowBits);
      }
    }
}

// Which bits of a Block hold bit q of raw code i; found by asking the format about blocks with one bit set.
template <class W>
struct CodeBits {
  uint16_t at[W::kElems * W::kBits];  // byte * 8 + bit
  CodeBits() {
    typename W::Block block;
    auto* bytes = (uint8_t*)&block;
    uint8_t none[W::kElems], raw[W::kElems];
    memset(&block, 0, sizeof block);
    for (int j = 0; j < W::kElems / W::kStep; ++j) raw_codes<W>(block, j, none + j * W::kStep);
    for (int bit = 0; bit < (int)sizeof block * 8; ++bit) {
      if (HeadLayout<W>::position(bit / 8) >= 0) continue;
      bytes[bit / 8] = (uint8_t)(1 << (bit % 8));
      for (int j = 0; j < W::kElems / W::kStep; ++j) raw_codes<W>(block, j, raw + j * W::kStep);
      bytes[bit / 8] = 0;
      for (int i = 0; i < W::kElems; ++i)
        for (int q = 0; q < W::kBits; ++q)
          if ((raw[i] ^ none[i]) == 1 << q) at[i * W::kBits + q] = (uint16_t)bit;
    }
    for (int i = 0; i < W::kElems; ++i) base[i] = none[i];
  }
  uint8_t base[W::kElems];  // raw codes of a block of zero bits (signed bytes: 128)
};

template <class W>
static void unpack(const std::byte* panel, int count, int64_t k, std::byte* rows, size_t stride) {
  using L = PanelLayout<W>;
  const CodeBits<W> where;
  for (int r = 0; r < count; ++r)
    for (int64_t b = 0; b < k / W::kElems; ++b) {
      auto* bytes = (uint8_t*)((typename W::Block*)(rows + (size_t)r * stride) + b);
      memset(bytes, 0, sizeof(typename W::Block));
      const auto* in = (const uint8_t*)panel + b * L::kBytes;
      HeadLayout<W>::take(in, r, bytes);
      in += L::kHeadBytes;
      for (int i = 0; i < W::kElems; ++i) {
        const uint8_t* group = in + i / 32 * L::kGroupBytes;
        int raw = get_bits<L::kLowBits>(group, i % 32 / 4, r, i % 4);
        if constexpr (L::kHighBits > 0) raw |= get_bits<L::kHighBits>(group + 64 * L::kLowBits, i % 32 / 4, r, i % 4) << L::kLowBits;
        raw ^= where.base[i];
        for (int q = 0; q < W::kBits; ++q)
          if ((raw >> q) & 1)
            bytes[where.at[i * W::kBits + q] / 8] =
                (uint8_t)(bytes[where.at[i * W::kBits + q] / 8] | 1 << (where.at[i * W::kBits + q] % 8));
      }
    }
}

// Step v of a group, kLanes rows from `row`: panel codes (weight - Traits::kLow), unsigned bytes.
template <int Bits, int Step>
HZ_FN Codes plane(const uint8_t* p, int row) {
  constexpr int field = Step / Bits * Bits, mask = (1 << Bits) - 1;
  const Codes c = load_codes(p + Step % Bits * 64 + row * 4);
  if constexpr (Bits == 8) return c;
  else if constexpr (field == 0) return and_codes(c, mask);
  else return and_codes(shr_codes<field>(c), mask);
}
template <class W, int Step>
HZ_FN Codes panel_codes(const uint8_t* group, int row) {
  using L = PanelLayout<W>;
  Codes c = plane<L::kLowBits, Step>(group, row);
  if constexpr (L::kHighBits > 0) c = or_codes(c, shl_codes<L::kLowBits>(plane<L::kHighBits, Step>(group + 64 * L::kLowBits, row)));
  if constexpr (requires { W::values(); }) {
    alignas(16) static constexpr auto table = [] {
      quant::Table<uint8_t, 16> t{};
      for (int i = 0; i < 16; ++i) t.at[i] = (uint8_t)(W::values().at[i] - Traits<W>::kLow);
      return t;
    }();
    c = lookup_codes(c, table.at);
  }
  return c;
}

}  // namespace HZ_UNIT
}  // namespace hz::cpu
