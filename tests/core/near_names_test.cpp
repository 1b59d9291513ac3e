// SPDX-License-Identifier: Apache-2.0
// Near names: distances, order, and that a far name suggests nothing.
#include "hanzo/core/near_names.hpp"

#include "tests/catch.hpp"

namespace hz {

TEST_CASE("edit distance counts insertions, deletions, changes and swaps") {
  CHECK(edit_distance("", "") == 0);
  CHECK(edit_distance("", "abc") == 3);
  CHECK(edit_distance("kitten", "sitting") == 3);
  CHECK(edit_distance("thraeds", "threads") == 1);
  CHECK(edit_distance("q4_k", "Q4-K") == 0);
  CHECK(edit_distance("abc", "cba") == 2);
}

TEST_CASE("the nearest names come first, ties in the given order") {
  constexpr std::string_view kNames[] = {"Q8_0", "Q4_0", "Q4_1", "IQ4_NL"};
  CHECK(nearest("q4_2", kNames, 2) == std::vector<std::string_view>{"Q4_0", "Q4_1"});
  CHECK(nearest("x", kNames, 9).size() == 4);
  CHECK(nearest("x", {}, 3).empty());
}

TEST_CASE("a suggestion is made only when it is likely") {
  constexpr std::string_view kFlags[] = {"--threads", "--temp", "--top-k", "-n"};
  CHECK(meant("--thread", kFlags) == "--threads");
  CHECK(meant("--tepm", kFlags) == "--temp");
  CHECK(meant("--top_k", kFlags) == "--top-k");
  CHECK(meant("--frobnicate", kFlags).empty());
  CHECK(meant("--x", {}).empty());
}

}  // namespace hz
