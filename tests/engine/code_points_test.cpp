// SPDX-License-Identifier: Apache-2.0
// Sets of code points against plain sets, and their UTF-8 byte ranges against the encoder.
#include "src/engine/grammar/code_points.hpp"

#include <random>
#include <set>
#include <string>

#include "hanzo/text/utf8.hpp"
#include "tests/catch.hpp"

using namespace hz;
using engine::CodePointSet;

namespace {

bool is_scalar(char32_t c) { return c <= 0x10FFFF && !(c >= 0xD800 && c <= 0xDFFF); }

CodePointSet random_set(std::mt19937& random, char32_t top) {
  CodePointSet set;
  for (int i = 0; i < 5; ++i) {
    const auto a = static_cast<char32_t>(random() % top), b = static_cast<char32_t>(random() % top);
    const char32_t lo = std::min(a, b);
    set.add(lo, std::min<char32_t>(std::max(a, b), lo + static_cast<char32_t>(random() % (top / 4))));
  }
  return set;
}

bool matches(const std::vector<engine::ByteSequence>& sequences, const std::string& bytes) {
  int count = 0;
  for (const auto& s : sequences) {
    bool ok = s.length == static_cast<int>(bytes.size());
    for (std::size_t i = 0; ok && i < bytes.size(); ++i) {
      const auto b = static_cast<std::uint8_t>(bytes[i]);
      ok = b >= s.bytes[i].lo && b <= s.bytes[i].hi;
    }
    count += ok ? 1 : 0;
  }
  REQUIRE(count <= 1);  // the sequences do not overlap
  return count == 1;
}

}  // namespace

TEST_CASE("sets of code points behave as sets", "[engine]") {
  std::mt19937 random(41);
  for (int round = 0; round < 50; ++round) {
    const CodePointSet a = random_set(random, 300), b = random_set(random, 300);
    const CodePointSet both = a.intersect(b), not_a = a.complement(), rest = a.without(b);
    CodePointSet either = a;
    either.add(b);
    for (char32_t c = 0; c < 400; ++c) {
      CHECK(both.contains(c) == (a.contains(c) && b.contains(c)));
      CHECK(either.contains(c) == (a.contains(c) || b.contains(c)));
      CHECK(not_a.contains(c) == !a.contains(c));
      CHECK(rest.contains(c) == (a.contains(c) && !b.contains(c)));
    }
    CHECK(not_a.complement() == a);
    const auto& r = either.ranges();
    for (std::size_t i = 1; i < r.size(); ++i) CHECK(r[i].lo > r[i - 1].hi + 1);
  }
  CHECK(CodePointSet::any().complement().empty());
  CHECK_FALSE(CodePointSet::any().contains(0xD800));
  CHECK(CodePointSet{{0xD800, 0xDFFF}}.empty());
  CHECK(CodePointSet{{0x200000, 0x300000}}.empty());
  CHECK(CodePointSet::of({{5, 6}, {1, 2}, {3, 4}}) == CodePointSet{{1, 6}});
}

TEST_CASE("the byte ranges of a set match the UTF-8 of its members and nothing else", "[engine]") {
  std::mt19937 random(42);
  std::vector<CodePointSet> sets{CodePointSet::any(), {{0x7F, 0x80}},         {{0x7FF, 0x800}},    {{0xD000, 0xF000}},
                                 {{0xFFFF, 0x10000}}, {{0x10FFFF, 0x10FFFF}}, {{0x3FFFF, 0x50123}}};
  for (int i = 0; i < 20; ++i) sets.push_back(random_set(random, i % 2 ? 0x110000 : 0x3000));
  for (const CodePointSet& set : sets) {
    const auto sequences = engine::utf8_sequences(set);
    const auto check = [&](char32_t c) {
      if (!is_scalar(c)) return;
      std::string bytes;
      text::append_utf8(bytes, c);
      CHECK(matches(sequences, bytes) == set.contains(c));
    };
    for (const auto& r : set.ranges())
      for (char32_t d = 0; d < 3; ++d) check(r.lo - 1 + d), check(r.hi - 1 + d);
    for (int i = 0; i < 300; ++i) check(static_cast<char32_t>(random() % 0x110000));
    for (const char* bad : {"\x80", "\xC0\x80", "\xC1\xBF", "\xE0\x80\x80", "\xED\xA0\x80", "\xF0\x80\x80\x80", "\xF4\x90\x80\x80", "\xF8"})
      CHECK_FALSE(matches(sequences, bad));
  }
}
