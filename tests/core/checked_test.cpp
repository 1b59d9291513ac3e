// SPDX-License-Identifier: Apache-2.0
// Checked: overflow is sticky, never wraps, and compares as too big.
#include "hanzo/core/checked.hpp"

#include "tests/catch.hpp"

namespace hz {
namespace {
constexpr std::uint64_t kMax = std::numeric_limits<std::uint64_t>::max();
}

TEST_CASE("checked arithmetic agrees with plain arithmetic inside the range") {
  CHECK((Checked(6) * Checked(7)).get() == 42u);
  CHECK((Checked(40) + Checked(2)).get() == 42u);
  CHECK((Checked(44) - Checked(2)).get() == 42u);
  CHECK((Checked(kMax) + Checked(0)).get() == kMax);
  CHECK((Checked(kMax / 2) * Checked(2)).get() == kMax - 1);
}

TEST_CASE("checked arithmetic notices overflow in every operation") {
  CHECK_FALSE((Checked(kMax) + Checked(1)).ok());
  CHECK_FALSE((Checked(0) - Checked(1)).ok());
  CHECK_FALSE((Checked(1ull << 32) * Checked(1ull << 32)).ok());
  CHECK_FALSE(Checked(-1).ok());
  CHECK_FALSE(Checked(std::int8_t{-128}).ok());
}

TEST_CASE("checked overflow is sticky") {
  const Checked broken = Checked(kMax) + Checked(1);
  CHECK_FALSE((broken - Checked(5)).ok());
  CHECK_FALSE((broken * Checked(0)).ok());
  CHECK_FALSE((Checked(0) + broken).ok());
  CHECK_FALSE(broken.round_up(64).ok());
  CHECK(broken.get() == std::nullopt);
  CHECK(broken.or_max() == kMax);
  CHECK_FALSE(broken <= kMax);  // an overflowed size fits nothing
}

TEST_CASE("checked round_up reaches the next multiple or overflows") {
  CHECK(Checked(0).round_up(32).get() == 0u);
  CHECK(Checked(1).round_up(32).get() == 32u);
  CHECK(Checked(32).round_up(32).get() == 32u);
  CHECK(Checked(33).round_up(7).get() == 35u);
  CHECK_FALSE(Checked(kMax).round_up(32).ok());
  CHECK_FALSE(Checked(5).round_up(0).ok());
}

TEST_CASE("narrow refuses what the smaller type cannot hold") {
  CHECK(narrow<std::uint8_t>(255) == std::uint8_t{255});
  CHECK(narrow<std::uint8_t>(256) == std::nullopt);
  CHECK(narrow<std::uint8_t>(-1) == std::nullopt);
  CHECK(narrow<std::int32_t>(std::uint64_t{1} << 31) == std::nullopt);
  CHECK(narrow<std::int32_t>(std::int64_t{-2147483648LL}) == std::numeric_limits<std::int32_t>::min());
  CHECK(narrow<std::int64_t>(kMax) == std::nullopt);
  CHECK(narrow<std::uint64_t>(std::int64_t{-1}) == std::nullopt);
}

}  // namespace hz
