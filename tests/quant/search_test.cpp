// SPDX-License-Identifier: Apache-2.0
// The searching encoders: the same bytes from every instruction set and thread count, importance is heeded, a thorough
// search is never worse, hostile importance does no harm.
#include "src/quant/search/table.hpp"

#include <cmath>
#include <cstring>
#include <limits>

#include "hanzo/quant/qtensor.hpp"
#include "tests/catch.hpp"
#include "tests/quant/random_blocks.hpp"

using namespace hz;
using namespace hz::quant;

namespace {

struct Searched {
  const char* name;
  Encoder SearchTable::*member;
};
constexpr Searched kSearched[] = {
#define HZ_X(format) {#format, &SearchTable::format},
    HZ_SEARCHED(HZ_X)
#undef HZ_X
};

// Normal weights with outliers, a stretch of zeros, one constant and one tiny stretch.
std::vector<float> weights(std::size_t n, unsigned seed) {
  std::mt19937 rng(seed);
  std::normal_distribution<float> normal(0, 0.02f);
  std::vector<float> x(n);
  for (float& v : x) v = normal(rng);
  for (std::size_t i = 37; i < n; i += 301) x[i] *= 20;
  for (std::size_t i = 512; i < 800 && i < n; ++i) x[i] = 0;
  for (std::size_t i = 1024; i < 1280 && i < n; ++i) x[i] = 0.0123f;
  for (std::size_t i = 1536; i < 1800 && i < n; ++i) x[i] *= 1e-6f;
  return x;
}
std::vector<float> importance(std::size_t n) {
  std::mt19937 rng(5);
  std::normal_distribution<float> normal(0, 1);
  std::vector<float> w(n);
  for (float& v : w) v = std::exp(normal(rng));
  return w;
}

double error(const Tensor& x, const Tensor& y, std::span<const float> w) {
  double sum = 0;
  for (std::int64_t i = 0; i < x.numel(); ++i) {
    const double e = double(x.data<float>()[i]) - double(y.data<float>()[i]);
    sum += (w.empty() ? 1.0 : double(w[static_cast<std::size_t>(i % x.cols())])) * e * e;
  }
  return sum;
}

}  // namespace

TEST_CASE("every instruction set encodes to the same bytes", "[slow]") {
  const auto x = weights(2048, 3), w = importance(2048);
  REQUIRE(search_table("base") != nullptr);
  int compared = 0;
  for (const char* isa : {"avx2", "avx512"}) {
    const SearchTable* other = search_table(isa);
    if (other == nullptr) continue;
    for (const Searched& s : kSearched)
      for (const float* importance_or_none : {static_cast<const float*>(nullptr), w.data()})
        for (const Search search : {Search::normal, Search::thorough}) {
          INFO(s.name << " " << isa << " " << (importance_or_none != nullptr) << " " << static_cast<int>(search));
          const std::size_t bytes = row_bytes(*from_name(s.name), 2048);
          std::vector<std::byte> a(bytes), b(bytes);
          (search_table("base")->*s.member)(x.data(), 2048, {importance_or_none, search}, a.data());
          (other->*s.member)(x.data(), 2048, {importance_or_none, search}, b.data());
          CHECK(a == b);
          ++compared;
        }
  }
  if (compared == 0) HZ_SKIP("this machine has one instruction set only");
}

TEST_CASE("quantize gives the same bytes on any number of threads") {
  const Tensor x = Tensor::from(weights(std::size_t{24} * 512, 9), {2, 12, 512});
  const auto w = importance(2 * 512);  // each expert its own
  for (const WType type : {WType::q4_k, WType::iq3_s, WType::q8_0}) {
    const QTensor one = quantize(x, type, {.importance = w, .threads = 1});
    for (int threads : {2, 3, 7}) {
      const QTensor more = quantize(x, type, {.importance = w, .threads = threads});
      CHECK(std::memcmp(one.bytes().data(), more.bytes().data(), one.nbytes()) == 0);
    }
    // An expert is what it would be alone.
    const Tensor second = x.slice(0, 1, 2).reshape({12, 512});
    const QTensor alone = quantize(second, type, {.importance = std::span(w).subspan(512)});
    CHECK(std::memcmp(one.expert(1).bytes().data(), alone.bytes().data(), alone.nbytes()) == 0);
  }
  CHECK_THROWS_AS(quantize(x, WType::q4_k, {.importance = std::span(w).first(100)}), Error);
}

TEST_CASE("importance lowers the weighted error, a thorough search lowers any", "[slow]") {
  const Tensor x = Tensor::from(weights(std::size_t{4} * 2048, 17), {4, 2048});
  const auto w = importance(2048);
  for (const Searched& s : kSearched) {
    INFO(s.name);
    const WType type = *from_name(s.name);
    const double plain = error(x, quantize(x, type).decode(), w), heeded = error(x, quantize(x, type, {.importance = w}).decode(), w);
    CHECK(heeded < plain);
    CHECK(error(x, quantize(x, type, {.importance = w, .search = Search::thorough}).decode(), w) <= heeded * 1.0001);
    CHECK(error(x, quantize(x, type, {.search = Search::thorough}).decode(), {}) <= error(x, quantize(x, type).decode(), {}) * 1.0001);
  }
}

TEST_CASE("importance that cannot be used is left aside") {
  const Tensor x = Tensor::from(weights(512, 21), {1, 512});
  constexpr float kInf = std::numeric_limits<float>::infinity(), kNan = std::numeric_limits<float>::quiet_NaN();
  for (const Searched& s : kSearched) {
    INFO(s.name);
    const WType type = *from_name(s.name);
    const QTensor equal = quantize(x, type, {.importance = std::vector<float>(512, 1.0f)});
    for (const float bad : {0.0f, -1.0f, kInf, kNan, 1e38f}) {
      const QTensor q = quantize(x, type, {.importance = std::vector<float>(512, bad)});
      CHECK(q.first_bad_row(0, 1) == -1);
      CHECK(std::memcmp(q.bytes().data(), equal.bytes().data(), q.nbytes()) == 0);
    }
    // One column in ten counts: the others still come out near their values.
    std::vector<float> sparse(512, 0.0f);
    for (std::size_t i = 0; i < 512; i += 10) sparse[i] = 1;
    const Tensor y = quantize(x, type, {.importance = sparse}).decode();
    CHECK(error(x, y, {}) < 2 * error(x, Tensor::zeros(x.shape()), {}));
  }
}

TEST_CASE("weights that are all alike and too large are refused, not hidden") {
  for (const Searched& s : kSearched) {
    INFO(s.name);
    const QTensor q = quantize(Tensor::from(std::vector<float>(256, 1e30f), {1, 256}), *from_name(s.name), {.search = Search::thorough});
    CHECK(q.first_bad_row(0, 1) == 0);
  }
}
