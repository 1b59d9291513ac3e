// SPDX-License-Identifier: Apache-2.0
// Philox: the published known answers, and the properties that batching and resuming rest on.
#include "hanzo/core/random.hpp"

#include <cmath>
#include <set>

#include "tests/catch.hpp"

namespace hz {
namespace {
using Words = std::array<std::uint32_t, 4>;
}

// The three philox4x32-10 vectors of the authors' Random123 test file (counter words, key words, result).
TEST_CASE("philox equals the published known answers") {
  CHECK(philox(0, 0, 0) == Words{0x6627e8d5u, 0xe169c58du, 0xbc57ac4cu, 0x9b00dbd8u});
  CHECK(philox(~0ull, ~0ull, ~0ull) == Words{0x408f276du, 0x41c83b0eu, 0xa20bc7c6u, 0x6d5451fdu});
  // counter 243f6a88 85a308d3 13198a2e 03707344, key a4093822 299f31d0: word 0 is the low half of position, seed.
  CHECK(philox(0x299f31d0a4093822ull, 0x0370734413198a2eull, 0x85a308d3243f6a88ull) ==
        Words{0xd16cfe09u, 0x94fdccebu, 0x5001e420u, 0x24126ea1u});
}

TEST_CASE("philox is a compile-time function of seed, stream and position alone") {
  static_assert(philox(1, 2, 3) == philox(1, 2, 3));
  static_assert(philox(1, 2, 3) != philox(1, 3, 2));
  static_assert(philox(1, 2, 3) != philox(2, 1, 3));
  std::set<Words> seen;
  for (std::uint64_t i = 0; i < 1000; ++i) seen.insert(philox(7, i / 10, i % 10));
  CHECK(seen.size() == 1000);
}

TEST_CASE("uniform lies in [0, 1) and has the mean and variance of a uniform number") {
  constexpr int kCount = 100000;
  double sum = 0, squares = 0;
  for (int i = 0; i < kCount; ++i) {
    const float u = uniform(42, 1, static_cast<std::uint64_t>(i));
    REQUIRE((u >= 0.0f && u < 1.0f));
    sum += static_cast<double>(u);
    squares += static_cast<double>(u) * static_cast<double>(u);
  }
  const double mean = sum / kCount;
  CHECK(std::abs(mean - 0.5) < 5 * std::sqrt(1.0 / 12 / kCount));
  CHECK(std::abs(squares / kCount - mean * mean - 1.0 / 12) < 0.001);
}

}  // namespace hz
