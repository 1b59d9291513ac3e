// SPDX-License-Identifier: Apache-2.0
// Shape: sizes, limits, printing.
#include "hanzo/core/shape.hpp"

#include "hanzo/core/error.hpp"
#include "tests/catch.hpp"

namespace hz {

TEST_CASE("a shape counts from both ends and multiplies up") {
  const Shape s{2, 3, 4};
  CHECK(s.rank() == 3);
  CHECK(s[0] == 2);
  CHECK(s[-1] == 4);
  CHECK(s.back() == 4);
  CHECK(s.numel() == 24);
  CHECK(s.rows() == 6);
  CHECK(s == Shape({2, 3, 4}));
  CHECK_FALSE(s == Shape({2, 3}));
  CHECK_FALSE(s == Shape({2, 3, 5}));
}

TEST_CASE("a scalar has one element and an empty dimension none") {
  CHECK(Shape{}.numel() == 1);
  CHECK(Shape{}.rows() == 1);
  CHECK(Shape{}.back() == 1);
  CHECK(Shape({0, 5}).numel() == 0);
  CHECK(Shape({5, 0}).rows() == 0);
}

TEST_CASE("a shape prints as people write it") {
  CHECK(to_string(Shape{512, 576}) == "512 x 576");
  CHECK(to_string(Shape{7}) == "7");
  CHECK(to_string(Shape{}) == "scalar");
}

TEST_CASE("a shape refuses negative dimensions, a seventh one, and a product beyond int64") {
  CHECK_THROWS_AS(Shape({2, -1}), Error);
  CHECK_THROWS_AS(Shape({1, 1, 1, 1, 1, 1, 1}), Error);
  CHECK_THROWS_AS(Shape({INT64_MAX, 2}).numel(), Error);
  CHECK_THROWS_AS(Shape({std::int64_t{1} << 32, std::int64_t{1} << 31}).numel(), Error);
  CHECK(Shape({INT64_MAX, 1}).numel() == INT64_MAX);
}

}  // namespace hz
