// SPDX-License-Identifier: Apache-2.0
// The bits of kernels that no rule written out beside them can check: one hash for every processor and compiler. A change of
// a polynomial changes them on purpose; anything else that does is a break of the contract (docs/numerics.md).
#include <cmath>

#include "hanzo/core/error.hpp"
#include "tests/catch.hpp"
#include "tests/kernels/fnv.hpp"
#include "tests/kernels/isas.hpp"
#include "tests/random.hpp"

using namespace hz;
using namespace hz::test;

namespace {

std::vector<float> numbers(std::int64_t n, std::uint64_t seed) {
  const Tensor t = random_tensor({n}, seed);
  return {t.data<float>(), t.data<float>() + n};
}

// Every exponent with some mantissas, both signs; positive where `half`.
std::vector<float> all_scales(bool half) {
  std::vector<float> x;
  for (std::uint32_t e = 1; e < 255; ++e)
    for (std::uint64_t i = 0; i < 64; ++i) {
      const std::uint32_t bits = e << 23 | (philox(50, e, i)[0] & 0x7fffffu) | (half || i % 2 == 0 ? 0 : 0x80000000u);
      float f;
      std::memcpy(&f, &bits, 4);
      x.push_back(f);
    }
  return x;
}

}  // namespace

TEST_CASE("elementary functions and their slopes have these bits on every processor", "[kernels]") {
  const struct {
    Unary kind;
    std::uint64_t value, slope;
  } cases[] = {
      {Unary::silu, 0xdd7575909256cd45, 0x14f5b0345938d49d},
      {Unary::gelu_tanh, 0xec07fe39e3ca33b8, 0x813ecde8678f4049},
      {Unary::gelu_erf, 0xd557bdd3b8840052, 0x6eb43e8ac5c4d5b1},
      {Unary::gelu_quick, 0x70b9f22283253bfb, 0x0749847ccd075855},
      {Unary::tanh, 0xa7ad2398c39028f1, 0x4f0368824047d402},
      {Unary::sigmoid, 0xf8cceb30326339af, 0x63b15e0e51fc1d50},
      {Unary::exp, 0x4414a3d04093a47c, 0x4414a3d04093a47c},
      {Unary::log, 0x18ef373a21369666, 0xd3cb53e02eb452ed},
  };
  for (const auto& c : cases) {
    const bool half = c.kind == Unary::log;
    std::vector<float> x = all_scales(half);
    for (const float v : numbers(20000, 51)) x.push_back(half ? std::fabs(v) + 1e-3f : v);
    const std::vector<float> ones(x.size(), 1.0f);
    for (const auto* isa : runnable_isas()) {
      std::vector<float> y(x.size()), dx(x.size());
      isa->unary(c.kind, x.data(), static_cast<std::int64_t>(x.size()), y.data());
      isa->unary_grad(c.kind, x.data(), ones.data(), static_cast<std::int64_t>(x.size()), dx.data());
      const std::uint64_t value = fnv1a(y), slope = fnv1a(dx);
      INFO(isa->name << " function " << static_cast<int>(c.kind) << std::hex << " value " << value << " slope " << slope);
      CHECK(value == c.value);
      CHECK(slope == c.slope);
    }
  }
}

TEST_CASE("norms, softmax, rope and their gradients have these bits on every processor", "[kernels]") {
  for (const auto* isa : runnable_isas()) {
    std::uint64_t hash = kFnvBegin;
    const auto add = [&hash](const std::vector<float>& values) { hash = fnv1a(values, hash); };
    for (const std::int64_t n : {2, 16, 30, 64, 100, 576}) {
      const auto x = numbers(n, 61), w = numbers(n, 62), b = numbers(n, 63);
      std::vector<float> y(x.size()), p(x.size()), stats(2);
      isa->rms_norm(x.data(), w.data(), n, 1e-5f, y.data());
      add(y);
      isa->layer_norm(x.data(), w.data(), b.data(), n, 1e-5f, y.data());
      add(y);
      add({isa->exp_sum(x.data(), isa->row_max(x.data(), n), n, p.data()), isa->dot_rows(x.data(), w.data(), n)});
      add(p);
      isa->softmax_grad(p.data(), b.data(), n, y.data());
      add(y);
      for (const bool rms : {true, false}) {
        isa->norm_stats(rms, x.data(), n, 1e-5f, stats.data(), stats.data() + 1);
        isa->norm_grad(rms, x.data(), w.data(), b.data(), n, stats[0], stats[1], y.data());
        add(y);
      }
      for (const bool adjacent : {true, false}) {
        isa->rope(adjacent, x.data(), w.data(), static_cast<int>(n), static_cast<int>(n) / 4 * 2, y.data());
        add(y);
        isa->rope_grad(adjacent, x.data(), w.data(), static_cast<int>(n), static_cast<int>(n) / 4 * 2, y.data());
        add(y);
      }
    }
    INFO(isa->name << std::hex << " " << hash);
    CHECK(hash == 0x4afbb6e8e9a4518d);
  }
}
