// SPDX-License-Identifier: Apache-2.0
// Elementary functions, norms and activation quantization: accurate, and the same bits in every instruction set.
#include <cmath>
#include <limits>

#include "hanzo/quant/qact.hpp"
#include "tests/catch.hpp"
#include "tests/kernels/isas.hpp"
#include "tests/random.hpp"

using namespace hz;
using namespace hz::test;

namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();

double exact(Unary kind, double x) {
  switch (kind) {
    case Unary::silu: return x / (1 + std::exp(-x));
    case Unary::gelu_tanh: return x / (1 + std::exp(-2 * 0.7978845608028654 * (x + 0.044715 * x * x * x)));
    case Unary::gelu_erf: return 0.5 * x * std::erfc(-x * 0.7071067811865476);
    case Unary::gelu_quick: return x / (1 + std::exp(-1.702 * x));
    case Unary::tanh: return std::tanh(x);
    case Unary::sigmoid: return 1 / (1 + std::exp(-x));
    case Unary::exp: return x < -64 ? 0 : std::exp(x);
    case Unary::log: return std::log(x);
    case Unary::relu: return std::max(x, 0.0);
    case Unary::relu2: return x > 0 ? x * x : 0;
    case Unary::neg: return -x;
  }
  return 0;
}

std::vector<float> inputs(Unary kind) {
  std::vector<float> x;
  for (int i = -4000; i <= 4000; ++i) x.push_back(static_cast<float>(i) * 0.0125f);
  for (float e = 1e-30f; e < 1e3f; e *= 3) x.insert(x.end(), {e, -e});
  for (float& v : x) {
    if (kind == Unary::log) v = std::fabs(v) + 1e-38f;
    if (kind == Unary::exp) v = std::fmax(std::fmin(v, 88.0f), -100.0f);
  }
  return x;
}

}  // namespace

TEST_CASE("elementary functions stay within a few units of the last place", "[kernels][slow]") {
  const auto isas = runnable_isas();
  for (const auto kind : {Unary::silu, Unary::gelu_tanh, Unary::gelu_erf, Unary::gelu_quick, Unary::tanh, Unary::sigmoid, Unary::exp,
                          Unary::log, Unary::relu, Unary::relu2, Unary::neg}) {
    const std::vector<float> x = inputs(kind);
    std::vector<float> first(x.size()), y(x.size());
    isas[0]->unary(kind, x.data(), static_cast<std::int64_t>(x.size()), first.data());
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double want = exact(kind, x[i]);
      INFO("function " << static_cast<int>(kind) << " at " << x[i] << " gives " << first[i] << " for " << want);
      const double relative = kind == Unary::gelu_erf ? 1e-6 : 4e-7;  // erfc loses a few bits in its tail
      REQUIRE(std::fabs(first[i] - want) <= relative * std::fabs(want) + 2e-7 * std::fmin(1.0, std::fabs(want) + 1e-3));
    }
    for (const auto* isa : isas) {
      isa->unary(kind, x.data(), static_cast<std::int64_t>(x.size()), y.data());
      INFO(isa->name << " function " << static_cast<int>(kind));
      REQUIRE(std::memcmp(first.data(), y.data(), y.size() * 4) == 0);
    }
  }
}

TEST_CASE("special values of the functions", "[kernels]") {
  for (const auto* isa : runnable_isas()) {
    const auto f = [&](Unary kind, float x) {
      float y;
      isa->unary(kind, &x, 1, &y);
      return y;
    };
    CHECK(f(Unary::exp, 0.0f) == 1.0f);
    CHECK(f(Unary::exp, -64.5f) == 0.0f);
    CHECK(!std::signbit(f(Unary::exp, -1000.0f)));
    CHECK(f(Unary::exp, 100.0f) == kInf);
    CHECK(f(Unary::exp, -kInf) == 0.0f);
    CHECK(std::isnan(f(Unary::exp, NAN)));
    CHECK(f(Unary::sigmoid, kInf) == 1.0f);
    CHECK(f(Unary::sigmoid, -kInf) == 0.0f);
    CHECK(f(Unary::tanh, 50.0f) == 1.0f);
    CHECK(f(Unary::tanh, -50.0f) == -1.0f);
    CHECK(f(Unary::log, 1.0f) == 0.0f);
    CHECK(f(Unary::log, 0.0f) == -kInf);
    CHECK(f(Unary::log, kInf) == kInf);
    CHECK(std::isnan(f(Unary::log, -1.0f)));
    for (const auto kind : {Unary::silu, Unary::gelu_tanh, Unary::gelu_erf, Unary::gelu_quick, Unary::tanh, Unary::sigmoid, Unary::exp,
                            Unary::log, Unary::relu, Unary::relu2, Unary::neg}) {
      INFO("poison goes through function " << static_cast<int>(kind));
      CHECK(std::isnan(f(kind, NAN)));
    }
    CHECK(std::isnan(f(Unary::gelu_erf, NAN)));
  }
}

TEST_CASE("activation quantization follows the scalar rule in every set", "[kernels]") {
  Tensor x = random_tensor({6, 96}, 21);
  float* p = x.data<float>();
  p[3] = NAN;
  p[96 + 40] = -kInf;
  for (int i = 0; i < 32; ++i) p[2 * 96 + i] = 0.0f;
  for (int i = 0; i < 32; ++i) p[3 * 96 + i] *= 0x1p-70f;
  for (int i = 0; i < 32; ++i) p[4 * 96 + i] = static_cast<float>(i % 3 - 1) * 0.5f;  // ties of the rounding
  for (const auto* isa : runnable_isas()) {
    QAct q = QAct::empty(6, 96), want = QAct::empty(6, 96);
    for (int r = 0; r < 6; ++r)
      isa->quantize(p + r * 96, 96, q.codes.data<std::int8_t>() + r * 96, q.scales.data<float>() + r * 3,
                    q.sums.data<std::int32_t>() + r * 6);
    for (int g = 0; g < 18; ++g)
      want.scales.data<float>()[g] =
          quantize_group(p + 32 * g, want.codes.data<std::int8_t>() + 32 * g, want.sums.data<std::int32_t>() + 2 * g);
    INFO(isa->name);
    CHECK(std::isnan(q.scales.data<float>()[0]));
    CHECK(std::isnan(q.scales.data<float>()[4]));
    CHECK(q.scales.data<float>()[6] == 0.0f);
    CHECK(q.scales.data<float>()[9] == 0.0f);
    for (int g = 0; g < 18; ++g)
      if (!std::isnan(want.scales.data<float>()[g])) CHECK(q.scales.data<float>()[g] == want.scales.data<float>()[g]);
    CHECK(std::memcmp(q.codes.raw(), want.codes.raw(), 6 * 96) == 0);
    CHECK(std::memcmp(q.sums.raw(), want.sums.raw(), 36 * 4) == 0);
  }
}

TEST_CASE("norms and reductions have the same bits in every set, at any length", "[kernels]") {
  const auto isas = runnable_isas();
  for (const std::int64_t n : {1, 2, 7, 8, 9, 15, 16, 17, 31, 33, 64, 100, 576}) {
    const Tensor x = random_tensor({n}, 31), w = random_tensor({n}, 32), b = random_tensor({n}, 33);
    std::vector<float> first, y(static_cast<std::size_t>(n));
    for (const auto* isa : isas) {
      std::vector<float> all;
      isa->rms_norm(x.data<float>(), w.data<float>(), n, 1e-5f, y.data());
      all.insert(all.end(), y.begin(), y.end());
      double s = 0;
      for (std::int64_t i = 0; i < n; ++i) s += static_cast<double>(x.data<float>()[i]) * x.data<float>()[i];
      for (std::int64_t i = 0; i < n; ++i)
        CHECK(y[static_cast<std::size_t>(i)] ==
              Approx(x.data<float>()[i] / std::sqrt(s / static_cast<double>(n) + 1e-5) * w.data<float>()[i]).epsilon(1e-5).margin(1e-7));
      isa->layer_norm(x.data<float>(), w.data<float>(), b.data<float>(), n, 1e-5f, y.data());
      all.insert(all.end(), y.begin(), y.end());
      all.push_back(isa->row_max(x.data<float>(), n));
      all.push_back(isa->exp_sum(x.data<float>(), isa->row_max(x.data<float>(), n), n, y.data()));
      all.insert(all.end(), y.begin(), y.end());
      isa->softcap(x.data<float>(), 5.0f, n, y.data());
      all.insert(all.end(), y.begin(), y.end());
      if (first.empty()) first = all;
      INFO(isa->name << " n " << n);
      REQUIRE(std::memcmp(first.data(), all.data(), all.size() * 4) == 0);
    }
  }
}

TEST_CASE("finite sees every poison", "[kernels]") {
  for (const auto* isa : runnable_isas())
    for (std::int64_t at = 0; at < 37; ++at)
      for (const float poison : {NAN, kInf, -kInf}) {
        Tensor x = random_tensor({37}, 40);
        CHECK(isa->finite(x.data<float>(), 37));
        x.data<float>()[at] = poison;
        CHECK_FALSE(isa->finite(x.data<float>(), 37));
      }
}
