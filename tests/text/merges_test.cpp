// SPDX-License-Identifier: Apache-2.0
// Merges: both ways of applying rules give what the definition says.
#include "src/text/merges.hpp"

#include <random>

#include "tests/catch.hpp"

using namespace hz::text::detail;

namespace {

// The definition: again and again the pair of lowest rank, the leftmost among equals.
void apply_by_definition(const Merges& merges, std::vector<Merges::Symbol>& s) {
  while (true) {
    std::uint32_t best = Merges::kNone;
    std::size_t at = 0;
    for (std::size_t i = 0; i + 1 < s.size(); ++i)
      if (const auto r = merges.find(s[i].id, s[i + 1].id); r.rank < best) best = r.rank, at = i;
    if (best == Merges::kNone) return;
    s[at] = {merges.find(s[at].id, s[at + 1].id).result, s[at].length + s[at + 1].length};
    s.erase(s.begin() + static_cast<std::ptrdiff_t>(at) + 1);
  }
}

}  // namespace

TEST_CASE("merges: short and long runs follow the definition", "[text]") {
  std::mt19937 random(7);
  for (int round = 0; round < 300; ++round) {
    Merges merges;
    int next = 4;  // ids 0 to 3 are the alphabet
    std::vector<std::pair<int, int>> made;
    for (std::uint32_t rank = 0; rank < 24; ++rank) {
      const int a = static_cast<int>(random() % static_cast<unsigned>(next)), b = static_cast<int>(random() % static_cast<unsigned>(next));
      if (merges.find(a, b).rank != Merges::kNone) continue;
      merges.add(a, b, {rank, next++});
    }
    const std::size_t n = round % 3 == 0 ? 1 + random() % 48 : 49 + random() % 200;
    std::vector<Merges::Symbol> symbols(n), expected;
    for (auto& s : symbols) s = {random() % 29 == 0 ? -1 : static_cast<int>(random() % 4), 1 + static_cast<unsigned>(random() % 3)};
    expected = symbols;
    apply_by_definition(merges, expected);
    Merges::Scratch scratch;
    merges.apply(symbols, scratch);
    REQUIRE(symbols.size() == expected.size());
    for (std::size_t i = 0; i < symbols.size(); ++i) {
      REQUIRE(symbols[i].id == expected[i].id);
      REQUIRE(symbols[i].length == expected[i].length);
    }
  }
}

TEST_CASE("merges: the first rule of a pair counts", "[text]") {
  Merges merges;
  merges.add(1, 2, {5, 10});
  merges.add(1, 2, {3, 11});
  CHECK(merges.size() == 1);
  CHECK(merges.find(1, 2).result == 10);
  CHECK(merges.find(2, 1).rank == Merges::kNone);
  CHECK(merges.find(-1, 2).rank == Merges::kNone);
}
