// SPDX-License-Identifier: Apache-2.0
// Encoders that search, one a format: the solution of a block as the bytes of the file.
#pragma once
#include "hanzo/quant/format/iq1_m.h"
#include "hanzo/quant/format/iq1_s.h"
#include "hanzo/quant/format/iq2_s.h"
#include "hanzo/quant/format/iq2_xs.h"
#include "hanzo/quant/format/iq2_xxs.h"
#include "hanzo/quant/format/iq3_s.h"
#include "hanzo/quant/format/iq3_xxs.h"
#include "hanzo/quant/format/iq4_xs.h"
#include "hanzo/quant/format/q2_k.h"
#include "hanzo/quant/format/q3_k.h"
#include "hanzo/quant/format/q4_0.h"
#include "hanzo/quant/format/q4_1.h"
#include "hanzo/quant/format/q5_0.h"
#include "hanzo/quant/format/q5_1.h"
#include "hanzo/quant/format/q5_k.h"
#include "hanzo/quant/format/q6_k.h"
#include "src/quant/search/codebook.hpp"
#include "src/quant/search/minimum.hpp"
#include "src/quant/search/table.hpp"

namespace hz::quant {
inline namespace HZ_UNIT {

// Codes 0 .. 31 of 32 weights as nibbles, i and i + 16 together, and a mask of fifth bits.
HZ_FN uint32_t pack_nibbles(const uint8_t* codes, uint8_t* qs) {
  uint32_t fifth = 0;
  for (int i = 0; i < 16; ++i) {
    qs[i] = (uint8_t)((codes[i] & 15) | (codes[i + 16] & 15) << 4);
    fifth |= (uint32_t)(codes[i] >> 4) << i | (uint32_t)(codes[i + 16] >> 4) << (i + 16);
  }
  return fifth;
}
// Two bits of each code: four groups of 32 share 32 bytes.
HZ_FN void pack_pairs(const uint8_t* codes, uint8_t* qs) {
  for (int half = 0; half < 2; ++half)
    for (int j = 0; j < 4; ++j)
      for (int i = 0; i < 32; ++i) qs[32 * half + i] |= (uint8_t)((codes[128 * half + 32 * j + i] & 3) << (2 * j));
}
// Nibbles of each code: two groups of 32 share 32 bytes.
HZ_FN void pack_halves(const uint8_t* codes, uint8_t* qs) {
  for (int j = 0; j < 4; ++j)
    for (int i = 0; i < 32; ++i) qs[32 * j + i] |= (uint8_t)((codes[64 * j + i] & 15) | (codes[64 * j + 32 + i] & 15) << 4);
}
// Bit `bit` of each code as bit j of byte i, weight i of group j.
HZ_FN void pack_high(const uint8_t* codes, int bit, uint8_t* high) {
  for (int j = 0; j < 8; ++j)
    for (int i = 0; i < 32; ++i) high[i] |= (uint8_t)(((codes[32 * j + i] >> bit) & 1) << j);
}
// The 12 bytes of Q4_K and Q5_K.
HZ_FN void pack_scale_min(const int* scale, const int* minimum, uint8_t* out) {
  for (int j = 0; j < 4; ++j) {
    out[j] = (uint8_t)(scale[j] | (scale[j + 4] >> 4) << 6);
    out[j + 4] = (uint8_t)(minimum[j] | (minimum[j + 4] >> 4) << 6);
    out[j + 8] = (uint8_t)((scale[j + 4] & 15) | (minimum[j + 4] & 15) << 4);
  }
}
// Four times seven signs and a scale code, as IQ2_XXS and IQ3_XXS store them.
HZ_FN void pack_signs(const uint8_t* signs, int scale, uint8_t* out) {
  uint32_t word = (uint32_t)scale << 28;
  for (int i = 0; i < 4; ++i) word |= (uint32_t)(signs[i] & 127) << (7 * i);
  std::memcpy(out, &word, 4);
}

HZ_FN bool exact(const EncodeOptions& o) { return o.search == Search::thorough; }

static inline void search_q4_0(const float* x, int64_t n, const EncodeOptions& o, std::byte* out) {
  each_scaled_block<q4_0>(x, n, o, out, [](const ScaledBlock& s, q4_0::Block& b) {
    uint8_t codes[32] = {};
    b.d = solve_single<EvenCodes<-8, 7>>(s, codes).bits;
    pack_nibbles(codes, b.qs);
  }, [](q4_0::Block& b) { b.d = kPoisonHalfBits; });
}
static inline void search_q5_0(const float* x, int64_t n, const EncodeOptions& o, std::byte* out) {
  each_scaled_block<q5_0>(x, n, o, out, [](const ScaledBlock& s, q5_0::Block& b) {
    uint8_t codes[32] = {};
    b.d = solve_single<EvenCodes<-16, 15>>(s, codes).bits;
    const uint32_t fifth = pack_nibbles(codes, b.qs);
    std::memcpy(b.qh, &fifth, 4);
  }, [](q5_0::Block& b) { b.d = kPoisonHalfBits; });
}
static inline void search_q4_1(const float* x, int64_t n, const EncodeOptions& o, std::byte* out) {
  each_scaled_block<q4_1>(x, n, o, out, [](const ScaledBlock& s, q4_1::Block& b) {
    uint8_t codes[32] = {};
    const SinglePair p = solve_single_minimum<15>(s, codes);
    b.d = p.d.bits;
    b.m = p.m.bits;
    pack_nibbles(codes, b.qs);
  }, [](q4_1::Block& b) { b.d = b.m = kPoisonHalfBits; });
}
static inline void search_q5_1(const float* x, int64_t n, const EncodeOptions& o, std::byte* out) {
  each_scaled_block<q5_1>(x, n, o, out, [](const ScaledBlock& s, q5_1::Block& b) {
    uint8_t codes[32] = {};
    const SinglePair p = solve_single_minimum<31>(s, codes);
    b.d = p.d.bits;
    b.m = p.m.bits;
    const uint32_t fifth = pack_nibbles(codes, b.qs);
    std::memcpy(b.qh, &fifth, 4);
  }, [](q5_1::Block& b) { b.d = b.m = kPoisonHalfBits; });
}
static inline void search_iq4_nl(const float* x, int64_t n, const EncodeOptions& o, std::byte* out) {
  each_scaled_block<iq4_nl>(x, n, o, out, [](const ScaledBlock& s, iq4_nl::Block& b) {
    uint8_t codes[32] = {};
    b.d = solve_single<Iq4Codes>(s, codes).bits;
    pack_nibbles(codes, b.qs);
  }, [](iq4_nl::Block& b) { b.d = kPoisonHalfBits; });
}

static inline void search_q2_k(const float* x, int64_t n, const EncodeOptions& o, std::byte* out) {
  each_scaled_block<q2_k>(x, n, o, out, [&](const ScaledBlock& s, q2_k::Block& b) {
    const auto r = MinimumBlock<3, 16, 15>::solve(s, o.search);
    uint8_t codes[256];
    r.codes(s, codes);
    b.d = r.d.bits;
    b.dmin = r.dmin.bits;
    for (int g = 0; g < 16; ++g) b.scales[g] = (uint8_t)(r.scale[g] | r.minimum[g] << 4);
    pack_pairs(codes, b.qs);
  }, [](q2_k::Block& b) { b.d = b.dmin = kPoisonHalfBits; });
}
static inline void search_q4_k(const float* x, int64_t n, const EncodeOptions& o, std::byte* out) {
  each_scaled_block<q4_k>(x, n, o, out, [&](const ScaledBlock& s, q4_k::Block& b) {
    const auto r = MinimumBlock<15, 8, 63>::solve(s, o.search);
    uint8_t codes[256];
    r.codes(s, codes);
    b.d = r.d.bits;
    b.dmin = r.dmin.bits;
    pack_scale_min(r.scale, r.minimum, b.scales);
    pack_halves(codes, b.qs);
  }, [](q4_k::Block& b) { b.d = b.dmin = kPoisonHalfBits; });
}
static inline void search_q5_k(const float* x, int64_t n, const EncodeOptions& o, std::byte* out) {
  each_scaled_block<q5_k>(x, n, o, out, [&](const ScaledBlock& s, q5_k::Block& b) {
    const auto r = MinimumBlock<31, 8, 63>::solve(s, o.search);
    uint8_t codes[256];
    r.codes(s, codes);
    b.d = r.d.bits;
    b.dmin = r.dmin.bits;
    pack_scale_min(r.scale, r.minimum, b.scales);
    pack_halves(codes, b.qs);
    pack_high(codes, 4, b.high);
  }, [](q5_k::Block& b) { b.d = b.dmin = kPoisonHalfBits; });
}
static inline void search_q3_k(const float* x, int64_t n, const EncodeOptions& o, std::byte* out) {
  each_scaled_block<q3_k>(x, n, o, out, [&](const ScaledBlock& s, q3_k::Block& b) {
    const bool quick = o.importance == nullptr && o.search == Search::normal;
    const auto r = SymmetricBlock<EvenCodes<-4, 3>, 16, -32, 31>::solve(s, o.search, quick);
    uint8_t codes[256];
    r.codes(s, codes);
    b.d = r.d.bits;
    for (int k = 0; k < 16; ++k) {
      const int code = r.l[k] + 32;
      b.scales[k & 7] |= (uint8_t)((code & 15) << (k < 8 ? 0 : 4));
      b.scales[8 + (k & 3)] |= (uint8_t)((code >> 4) << (2 * (k >> 2)));
    }
    pack_pairs(codes, b.qs);
    pack_high(codes, 2, b.high);
  }, [](q3_k::Block& b) { b.d = kPoisonHalfBits; });
}
static inline void search_q6_k(const float* x, int64_t n, const EncodeOptions& o, std::byte* out) {
  each_scaled_block<q6_k>(x, n, o, out, [&](const ScaledBlock& s, q6_k::Block& b) {
    const auto r = SymmetricBlock<EvenCodes<-32, 31>, 16, -128, 127>::solve(s, o.search);
    uint8_t codes[256];
    r.codes(s, codes);
    b.d = r.d.bits;
    for (int k = 0; k < 16; ++k) b.scales[k] = (int8_t)r.l[k];
    for (int i = 0; i < 256; ++i) {
      const int j = i / 32;
      b.ql[64 * (j / 4) + 32 * (j % 2) + i % 32] |= (uint8_t)((codes[i] & 15) << (4 * (j / 2 % 2)));
      b.qh[32 * (j / 4) + i % 32] |= (uint8_t)((codes[i] >> 4) << (2 * (j % 4)));
    }
  }, [](q6_k::Block& b) { b.d = kPoisonHalfBits; });
}
static inline void search_iq4_xs(const float* x, int64_t n, const EncodeOptions& o, std::byte* out) {
  each_scaled_block<iq4_xs>(x, n, o, out, [&](const ScaledBlock& s, iq4_xs::Block& b) {
    const auto r = SymmetricBlock<Iq4Codes, 8, -32, 31>::solve(s, o.search);
    uint8_t codes[256];
    r.codes(s, codes);
    b.d = r.d.bits;
    for (int j = 0; j < 8; ++j) {
      const int code = r.l[j] + 32;
      b.scales_low[j / 2] |= (uint8_t)((code & 15) << (4 * (j % 2)));
      b.scales_high = (uint16_t)(b.scales_high | (code >> 4) << (2 * j));
      pack_nibbles(codes + 32 * j, b.qs + 16 * j);
    }
  }, [](iq4_xs::Block& b) { b.d = kPoisonHalfBits; });
}

static inline void search_iq2_xxs(const float* x, int64_t n, const EncodeOptions& o, std::byte* out) {
  each_scaled_block<iq2_xxs>(x, n, o, out, [&](const ScaledBlock& s, iq2_xxs::Block& b) {
    const SignedBlock sign(s, true);
    using Groups = MagnitudeGroups<Iq2Rule, 8, uint64_t>;
    const auto r = CodebookBlock<Groups, 15>::solve(s, Groups{s, sign, iq2_xxs_grid().at, Iq2Rule::searcher(Book::iq2_xxs, exact(o))},
                                                    0.125f, o.search);
    b.d = r.d.bits;
    for (int j = 0; j < 8; ++j) {
      for (int i = 0; i < 4; ++i) b.qs[8 * j + i] = (uint8_t)r.points[j].at[i];
      pack_signs(sign.signs + 4 * j, r.l[j], b.qs + 8 * j + 4);
    }
  }, [](iq2_xxs::Block& b) { b.d = kPoisonHalfBits; });
}
static inline void search_iq2_xs(const float* x, int64_t n, const EncodeOptions& o, std::byte* out) {
  each_scaled_block<iq2_xs>(x, n, o, out, [&](const ScaledBlock& s, iq2_xs::Block& b) {
    const SignedBlock sign(s, true);
    using Groups = MagnitudeGroups<Iq2Rule, 16, uint64_t>;
    const auto r =
        CodebookBlock<Groups, 15>::solve(s, Groups{s, sign, iq2_xs_grid().at, Iq2Rule::searcher(Book::iq2_xs, exact(o))}, 0.125f, o.search);
    b.d = r.d.bits;
    for (int i = 0; i < 32; ++i) b.qs[i] = (uint16_t)(r.points[i / 2].at[i % 2] | (sign.signs[i] & 127) << 9);
    for (int g = 0; g < 16; ++g) b.scales[g / 2] |= (uint8_t)(r.l[g] << (4 * (g % 2)));
  }, [](iq2_xs::Block& b) { b.d = kPoisonHalfBits; });
}
static inline void search_iq2_s(const float* x, int64_t n, const EncodeOptions& o, std::byte* out) {
  each_scaled_block<iq2_s>(x, n, o, out, [&](const ScaledBlock& s, iq2_s::Block& b) {
    const SignedBlock sign(s, false);
    using Groups = MagnitudeGroups<Iq2Rule, 16, uint64_t>;
    const auto r =
        CodebookBlock<Groups, 15>::solve(s, Groups{s, sign, iq2_s_grid().at, Iq2Rule::searcher(Book::iq2_s, exact(o))}, 0.125f, o.search);
    b.d = r.d.bits;
    for (int i = 0; i < 32; ++i) {
      const int point = r.points[i / 2].at[i % 2];
      b.qs[i] = (uint8_t)point;
      b.qh[i / 4] |= (uint8_t)((point >> 8) << (2 * (i % 4)));
      b.signs[i] = sign.signs[i];
    }
    for (int g = 0; g < 16; ++g) b.scales[g / 2] |= (uint8_t)(r.l[g] << (4 * (g % 2)));
  }, [](iq2_s::Block& b) { b.d = kPoisonHalfBits; });
}
static inline void search_iq3_xxs(const float* x, int64_t n, const EncodeOptions& o, std::byte* out) {
  each_scaled_block<iq3_xxs>(x, n, o, out, [&](const ScaledBlock& s, iq3_xxs::Block& b) {
    const SignedBlock sign(s, true);
    using Groups = MagnitudeGroups<Iq3xxsRule, 8, uint32_t>;
    const auto r = CodebookBlock<Groups, 15>::solve(s, Groups{s, sign, iq3_xxs_grid().at, Iq3xxsRule::searcher(Book::iq3_xxs, exact(o))},
                                                    0.25f, o.search);
    b.d = r.d.bits;
    for (int j = 0; j < 8; ++j) {
      for (int i = 0; i < 8; ++i) b.qs[8 * j + i] = (uint8_t)r.points[j].at[i];
      pack_signs(sign.signs + 4 * j, r.l[j], b.scales_signs + 4 * j);
    }
  }, [](iq3_xxs::Block& b) { b.d = kPoisonHalfBits; });
}
static inline void search_iq3_s(const float* x, int64_t n, const EncodeOptions& o, std::byte* out) {
  each_scaled_block<iq3_s>(x, n, o, out, [&](const ScaledBlock& s, iq3_s::Block& b) {
    const SignedBlock sign(s, false);
    using Groups = MagnitudeGroups<Iq3sRule, 8, uint32_t>;
    const auto r =
        CodebookBlock<Groups, 15>::solve(s, Groups{s, sign, iq3_s_grid().at, Iq3sRule::searcher(Book::iq3_s, exact(o))}, 1.0f, o.search);
    b.d = r.d.bits;
    for (int j = 0; j < 8; ++j) {
      for (int i = 0; i < 8; ++i) {
        b.qs[8 * j + i] = (uint8_t)r.points[j].at[i];
        b.qh[j] |= (uint8_t)((r.points[j].at[i] >> 8) << i);
      }
      b.scales[j / 2] |= (uint8_t)(r.l[j] << (4 * (j % 2)));
    }
    std::memcpy(b.signs, sign.signs, 32);
  }, [](iq3_s::Block& b) { b.d = kPoisonHalfBits; });
}
static inline void search_iq1_s(const float* x, int64_t n, const EncodeOptions& o, std::byte* out) {
  each_scaled_block<iq1_s>(x, n, o, out, [&](const ScaledBlock& s, iq1_s::Block& b) {
    using Groups = TernaryGroups<8, false>;
    const auto r = CodebookBlock<Groups, 7>::solve(s, Groups(s, exact(o)), 1.0f, o.search);
    b.d = r.d.bits;
    for (int j = 0; j < 8; ++j) {
      unsigned high = (unsigned)r.l[j] << 12 | (r.points[j].shifted[0] ? 0x8000u : 0u);
      for (int i = 0; i < 4; ++i) {
        b.qs[4 * j + i] = (uint8_t)r.points[j].at[i];
        high |= (unsigned)(r.points[j].at[i] >> 8) << (3 * i);
      }
      b.qh[j] = (uint16_t)high;
    }
  }, [](iq1_s::Block& b) { b.d = kPoisonHalfBits; });
}
HZ_FN void put_iq1_m_half(iq1_m::Block& b, unsigned half) {
  for (int k = 0; k < 4; ++k) b.scales[k] = (uint16_t)(b.scales[k] | ((half >> (4 * k)) & 15) << 12);
}
static inline void search_iq1_m(const float* x, int64_t n, const EncodeOptions& o, std::byte* out) {
  each_scaled_block<iq1_m>(x, n, o, out, [&](const ScaledBlock& s, iq1_m::Block& b) {
    using Groups = TernaryGroups<16, true>;
    const auto r = CodebookBlock<Groups, 7>::solve(s, Groups(s, exact(o)), 1.0f, o.search);
    for (int i = 0; i < 32; ++i) {
      const Points& p = r.points[i / 2];
      b.qs[i] = (uint8_t)p.at[i % 2];
      b.qh[i / 2] |= (uint8_t)((p.at[i % 2] >> 8 | (p.shifted[i % 2] ? 8 : 0)) << (4 * (i % 2)));
    }
    for (int g = 0; g < 16; ++g) b.scales[g / 4] = (uint16_t)(b.scales[g / 4] | r.l[g] << (3 * (g % 4)));
    put_iq1_m_half(b, r.d.bits);
  }, [](iq1_m::Block& b) { put_iq1_m_half(b, kPoisonHalfBits); });
}

}  // namespace HZ_UNIT
}  // namespace hz::quant
