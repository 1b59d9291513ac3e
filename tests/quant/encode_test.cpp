// SPDX-License-Identifier: Apache-2.0
// The encoders that are built, each by the same rules: error bounds, zeros, extremes, poison, rows of many blocks.
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "hanzo/quant/format/decode.h"
#include "hanzo/quant/qtensor.hpp"
#include "src/quant/encode/common.hpp"
#include "tests/catch.hpp"
#include "tests/quant/random_blocks.hpp"

using namespace hz;
using namespace hz::quant;

namespace {

template <class F>
void for_each_encoder(F f) {
  int built = 0;
  for_each_wtype([&]<class W>(tag<W> t, const char* name, int id) {
    INFO(name);
    const FormatInfo& format = info(static_cast<WType>(id));
    if (format.encoder == nullptr) return;
    ++built;
    f(t, format);
  });
  REQUIRE(built > 0);
}

std::vector<float> normal_row(std::size_t n, float sigma) {
  std::mt19937 rng(11);
  std::normal_distribution<float> normal(0, sigma);
  std::vector<float> x(n);
  for (float& v : x) v = normal(rng);
  return x;
}

template <class W>
std::vector<typename W::Block> encode(const FormatInfo& format, const std::vector<float>& x) {
  std::vector<typename W::Block> blocks(x.size() / W::kElems);
  format.encoder(x.data(), static_cast<std::int64_t>(x.size()), {}, reinterpret_cast<std::byte*>(blocks.data()));
  return blocks;
}
template <class W>
std::vector<float> decode(const std::vector<typename W::Block>& blocks) {
  std::vector<float> y(blocks.size() * W::kElems);
  for (std::size_t i = 0; i < blocks.size(); ++i) decode_block<W>(blocks[i], y.data() + i * W::kElems);
  return y;
}

// Largest root-mean-square error that a format may have on normal weights, relative to their own.
template <class W>
double error_bound() {
  if constexpr (W::kFloating) return std::ldexp(1.0, sizeof(typename W::Block) == 4 ? -40 : std::is_same_v<W, f16> ? -11 : -8);
  else return W::kHigh <= 2 ? 0.85 : 2 * std::exp2(1 - bits<W>);
}

}  // namespace

TEST_CASE("codes are cut and rounded into their range as the definitions say") {
  const float nan = std::numeric_limits<float>::quiet_NaN(), inf = std::numeric_limits<float>::infinity();
  int wrong = 0;
  const auto check = [&](float v, int low, int high) {
    const double kept = std::isnan(v) ? low : std::clamp(double(v), double(low), double(high));
    wrong += truncate(v, low, high) != static_cast<int>(kept);
    wrong += round_away(v, low, high) != static_cast<int>(std::round(kept));
  };
  for (const auto& [low, high] : {std::pair{-127, 127}, {0, 15}, {0, 31}, {-1, 2}}) {
    for (int half = -300; half <= 300; ++half) {  // each half, and its neighbours
      const float v = static_cast<float>(half) / 2;
      for (float near : {v, std::nextafter(v, -inf), std::nextafter(v, inf)}) check(near, low, high);
    }
    for (float v : {nan, -nan, inf, -inf, 1e30f, -1e30f, -0.0f}) check(v, low, high);
  }
  CHECK(wrong == 0);
}

TEST_CASE("the extreme of a block is the first of the largest magnitude") {
  std::vector<float> x(32, 0.0f);
  x[3] = -0.0f;
  CHECK(extreme(x.data(), 32) == 0);
  CHECK(!std::signbit(extreme(x.data(), 32)));
  x[31] = 0x1p-149f;
  CHECK(extreme(x.data(), 32) == 0x1p-149f);
  x[5] = -2.0f;
  x[9] = 2.0f;
  CHECK(extreme(x.data(), 32) == -2.0f);
  CHECK(top_magnitude(x.data(), 32) == 2.0f);
  CHECK(all_finite(x.data(), 32));
  for (float bad : {std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::quiet_NaN()}) {
    x[17] = bad;
    CHECK(!all_finite(x.data(), 32));
    CHECK(!std::isfinite(top_magnitude(x.data(), 32)));
    CHECK(!std::isfinite(extreme(x.data(), 32)));
  }
}

TEST_CASE("what an encoder writes decodes to nearly what it read", "[slow]") {
  for_each_encoder([]<class W>(tag<W>, const FormatInfo& format) {
    for (float sigma : {1.0f, 0.25f, 3.0f}) {
      const auto x = normal_row(4096, sigma);
      const auto blocks = encode<W>(format, x);
      const auto y = decode<W>(blocks);
      double error = 0, norm = 0;
      for (std::size_t i = 0; i < x.size(); ++i) {
        error += (double(x[i]) - y[i]) * (double(x[i]) - y[i]);
        norm += double(x[i]) * x[i];
      }
      CHECK(std::sqrt(error / norm) <= error_bound<W>());
      for (const auto& b : blocks) CHECK(W::finite(b));
    }
  });
}

TEST_CASE("zeros decode to zeros, also between other blocks") {
  for_each_encoder([]<class W>(tag<W>, const FormatInfo& format) {
    auto x = normal_row(3 * 256, 1);
    for (int i = 256; i < 512; ++i) x[static_cast<std::size_t>(i)] = i % 2 ? -0.0f : 0.0f;
    const auto y = decode<W>(encode<W>(format, x));
    for (std::size_t i = 256; i < 512; ++i) CHECK(y[i] == 0);
  });
}

TEST_CASE("a NaN or an infinity poisons its block and no other") {
  for_each_encoder([]<class W>(tag<W>, const FormatInfo& format) {
    constexpr float kInf = std::numeric_limits<float>::infinity(), kNan = std::numeric_limits<float>::quiet_NaN();
    for (float poison : {kNan, -kNan, kInf, -kInf})
      for (std::size_t at : {0u, 300u, 511u}) {
        auto x = normal_row(3 * 256, 1);
        x[at] = poison;
        const auto blocks = encode<W>(format, x);
        for (std::size_t i = 0; i < blocks.size(); ++i) CHECK(W::finite(blocks[i]) == (i != at / W::kElems));
      }
  });
}

TEST_CASE("the whole range of floats is encoded to something defined", "[slow]") {
  for_each_encoder([]<class W>(tag<W>, const FormatInfo& format) {
    for (int exponent = -149; exponent <= 127; ++exponent) {
      auto x = normal_row(256, 0.2f);
      for (float& v : x) v = std::ldexp(std::fmin(std::fmax(v, -1.0f), 1.0f), exponent);
      x[7] = std::ldexp(-1.0f, exponent);
      for (const auto& b : encode<W>(format, x)) {
        float y[W::kElems];
        decode_block<W>(b, y);
        // Refused as too large for the format's scale, or decoded to values of about that size.
        if (!W::finite(b)) CHECK(exponent >= 14);
        else for (float v : y) CHECK(std::fabs(v) <= std::ldexp(1.25f, exponent) + 0x1p-14f);
      }
    }
  });
}

TEST_CASE("blocks are encoded one by one: a row is its blocks encoded alone") {
  for_each_encoder([]<class W>(tag<W>, const FormatInfo& format) {
    const auto x = normal_row(1024, 0.02f);
    const auto whole = encode<W>(format, x);
    for (std::size_t i = 0; i < whole.size(); ++i) {
      const std::vector<float> part(x.begin() + static_cast<std::ptrdiff_t>(i * W::kElems),
                                    x.begin() + static_cast<std::ptrdiff_t>((i + 1) * W::kElems));
      CHECK(std::memcmp(&whole[i], encode<W>(format, part).data(), sizeof whole[i]) == 0);
    }
  });
}
