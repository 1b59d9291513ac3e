// SPDX-License-Identifier: Apache-2.0
// The activation rule: one group of 32.
#include <cmath>
#include <limits>

#include "hanzo/quant/qact.hpp"
#include "tests/catch.hpp"

using namespace hz;

namespace {
struct Group {
  float x[32] = {};
  std::int8_t codes[32];
  std::int32_t sums[2];
  float scale() { return quantize_group(x, codes, sums); }
};
}  // namespace

TEST_CASE("the largest magnitude becomes 127, halves go to even, sums are of 16 codes each") {
  Group g;
  g.x[0] = -127;
  g.x[1] = 0.5f;
  g.x[2] = 1.5f;
  g.x[3] = -2.5f;
  g.x[31] = 100.4f;
  CHECK(g.scale() == 1.0f);
  CHECK(g.codes[0] == -127);
  CHECK(g.codes[1] == 0);
  CHECK(g.codes[2] == 2);
  CHECK(g.codes[3] == -2);
  CHECK(g.codes[31] == 100);
  CHECK(g.sums[0] == -127);
  CHECK(g.sums[1] == 100);
}

TEST_CASE("poison in a group makes its scale NaN; tiny groups become zero") {
  for (float v :
       {std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
    Group g;
    g.x[5] = 1;
    g.x[17] = v;
    CHECK(std::isnan(g.scale()));
    for (int c : g.codes) CHECK(c == 0);
  }
  Group g;
  g.x[3] = 0x1p-65f;
  CHECK(g.scale() == 0);
  CHECK(g.codes[3] == 0);
  g.x[3] = 0x1p-64f;
  CHECK(g.scale() == 0x1p-64f / 127);
  CHECK(g.codes[3] == 127);
  CHECK(g.sums[0] == 127);
}

TEST_CASE("codes of any finite group stay within 127 and decode to within half a step") {
  Group g;
  std::uint32_t seed = 1;
  for (int round = 0; round < 200; ++round) {
    float top = 0;
    for (float& v : g.x) {
      seed = seed * 1664525u + 1013904223u;
      v = std::ldexp(float(std::int32_t(seed)), int(seed >> 8 & 63) - 60);
      top = std::fmax(top, std::fabs(v));
    }
    const float d = g.scale();
    CHECK(d == top / 127);
    for (int i = 0; i < 32; ++i) {
      CHECK(std::abs(int(g.codes[i])) <= 127);
      CHECK(std::fabs(double(g.codes[i]) * d - g.x[i]) <= 0.50001 * d);
    }
  }
}

TEST_CASE("an activation matrix needs rows of whole groups") {
  CHECK(QAct::empty(2, 64).cols() == 64);
  CHECK(QAct::empty(2, 64).scales.cols() == 2);
  CHECK_THROWS_AS(QAct::empty(2, 48), Error);
}
