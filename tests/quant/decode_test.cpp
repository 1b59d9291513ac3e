// SPDX-License-Identifier: Apache-2.0
// Decoding, for every format of the list: code ranges, the generic formula, poison, the integer rule.
#include <bit>
#include <cmath>

#include "hanzo/quant/format/decode.h"
#include "hanzo/quant/qact.hpp"
#include "tests/catch.hpp"
#include "tests/quant/random_blocks.hpp"

using namespace hz;
using namespace hz::quant;
using hz::test::random_block;

namespace {

// Calls f for every format that has integer codes.
template <class F>
void for_each_coded(F f) {
  for_each_wtype([&]<class W>(tag<W> t, const char* name, int) {
    INFO(name);
    if constexpr (!W::kFloating) f(t);
  });
}

template <class W>
bool decodes_finite(const typename W::Block& b) {
  float w[W::kElems];
  decode_block<W>(b, w);
  for (float v : w)
    if (!std::isfinite(v)) return false;
  return true;
}

// Scales that a format forbids although they decode to finite weights.
template <class B>
bool forbidden(const B&) { return false; }
bool forbidden(const q8_1::Block& b) { return !half_finite(b.s); }
bool forbidden(const mxfp4::Block& b) { return b.e == 255; }
bool forbidden(const nvfp4::Block& b) {
  for (int d : b.d)
    if ((d & 127) == 127) return true;
  return false;
}

}  // namespace

TEST_CASE("the integer weight values of every format fill exactly their stated range") {
  for_each_coded([]<class W>(tag<W>) {
    int low = 0, high = 0;
    for (int i = 0; i < 400; ++i) {
      const auto b = random_block<W>(i);
      for (int j = 0; j < W::kElems / W::kStep; ++j) {
        std::int8_t codes[W::kStep];
        W::codes(b, j, codes);
        for (int c : codes) low = std::min(low, c), high = std::max(high, c);
      }
    }
    CHECK(low == W::kLow);
    CHECK(high == W::kHigh);
  });
}

TEST_CASE("a decoded weight is (dw * s) * code + minimum, each step rounded to float") {
  for_each_coded([]<class W>(tag<W>) {
    int wrong = 0;
    for (int i = 0; i < 100; ++i) {
      const auto b = random_block<W>(i);
      if (!W::finite(b)) continue;
      float w[W::kElems];
      decode_block<W>(b, w);
      for (int k = 0; k < W::kElems; ++k) {
        const int j = k / W::kStep, at = k % W::kStep, half = 2 * at / W::kStep;
        std::int8_t codes[W::kStep];
        W::codes(b, j, codes);
        const GroupScales g = W::scales(b, j);
        // In double every product here is exact; the casts are the roundings.
        const float scale = static_cast<float>(W::kSub ? double(g.dw) * (half ? g.s1 : g.s0) : double(g.dw));
        float want = static_cast<float>(double(scale) * codes[at]);
        if (W::kMin == Min::per_group) want = static_cast<float>(double(want) + double(g.mw));
        if (W::kMin == Min::per_half)
          want = static_cast<float>(double(want) + double(static_cast<float>(double(g.mw) * (half ? g.m1 : g.m0))));
        wrong += std::bit_cast<std::uint32_t>(want) != std::bit_cast<std::uint32_t>(w[k]) && !(want == 0 && w[k] == 0);
      }
    }
    CHECK(wrong == 0);
  });
}

TEST_CASE("finite() is false exactly where a weight is NaN or infinite, or a scale forbidden", "[slow]") {
  for_each_wtype([]<class W>(tag<W>, const char* name, int) {
    INFO(name);
    int good = 0, bad = 0, wrong = 0;
    for (int i = 0; i < 20000; ++i) {
      const auto b = random_block<W>(i);
      const bool expected = decodes_finite<W>(b) && !forbidden(b);
      wrong += expected != W::finite(b);
      (expected ? good : bad) += 1;
    }
    CHECK(wrong == 0);
    CHECK(good > 0);
    CHECK(bad > 0);
  });
}

TEST_CASE("the integer sums times the scales are the dot product of the decoded weights") {
  for_each_coded([]<class W>(tag<W>) {
    if (!W::kWeight) return;  // Q8_K has a float scale: code * d is rounded
    std::mt19937 rng(3);
    std::normal_distribution<float> normal;
    int wrong = 0;
    for (int i = 0; i < 100; ++i) {
      const auto b = random_block<W>(i);
      float w[W::kElems], x[32];
      if (!W::finite(b)) continue;
      decode_block<W>(b, w);
      for (int j = 0; j < W::kElems / W::kStep; ++j) {
        std::int8_t q[32], codes[W::kStep];
        std::int32_t sums[2];
        for (float& v : x) v = normal(rng);
        quantize_group(x, q, sums);
        W::codes(b, j, codes);
        const GroupScales g = W::scales(b, j);
        std::int32_t part[2] = {0, 0}, half_sum[2] = {0, 0};
        double dot = 0, magnitude = 0;
        for (int k = 0; k < W::kStep; ++k) {
          const int half = 2 * k / W::kStep;
          part[half] += codes[k] * q[k];
          half_sum[half] += q[k];
          dot += double(w[j * W::kStep + k]) * q[k];
          magnitude += std::fabs(double(w[j * W::kStep + k]) * q[k]);
        }
        const std::int32_t whole = W::kSub ? g.s0 * part[0] + g.s1 * part[1] : part[0] + part[1];
        double sum = double(g.dw) * whole;
        if (W::kMin == Min::per_group) sum += double(g.mw) * (half_sum[0] + half_sum[1]);
        if (W::kMin == Min::per_half) sum += double(g.mw) * (g.m0 * half_sum[0] + g.m1 * half_sum[1]);
        // Without a minimum a decoded weight is exact; with one it is rounded once.
        wrong += W::kMin == Min::none ? sum != dot : std::fabs(sum - dot) > 0x1p-23 * (magnitude + std::fabs(double(g.mw)) * 32 * 127);
      }
    }
    CHECK(wrong == 0);
  });
}

TEST_CASE("halves and bfloat16 decode and round the same in core and in the formats, all 65536 patterns") {
  int wrong = 0;
  for (std::uint32_t i = 0; i < 65536; ++i) {
    const auto bits = static_cast<std::uint16_t>(i);
    const float h = to_float(Half{bits}), b = to_float(BFloat16{bits});
    const std::uint32_t exponent = (i >> 10) & 31, mantissa = i & 1023;
    if (exponent == 31) {
      wrong += std::isnan(h) != (mantissa != 0) || std::isinf(h) != (mantissa == 0) || f16::finite({bits});
    } else {
      const double magnitude = exponent ? std::ldexp(1024.0 + mantissa, int(exponent) - 25) : std::ldexp(double(mantissa), -24);
      wrong += double(h) != (i & 0x8000 ? -magnitude : magnitude) || std::signbit(h) != (i >= 0x8000) || !f16::finite({bits});
    }
    wrong += std::bit_cast<std::uint32_t>(b) != i << 16 || bf16::finite({bits}) != std::isfinite(b);
    if (!std::isnan(h)) wrong += f16::value({bits}) != h || to_half(h).bits != bits;
    else wrong += !std::isnan(f16::value({bits})) || !std::isnan(to_float(to_half(h)));
    if (!std::isnan(b)) wrong += bf16::value({bits}) != b || to_bfloat16(b).bits != bits;
    else wrong += !std::isnan(bf16::value({bits})) || !std::isnan(to_float(to_bfloat16(b)));
  }
  CHECK(wrong == 0);
}
