// SPDX-License-Identifier: Apache-2.0
// StopMatcher against a plain search over the whole text, for every way of cutting the text into pieces.
#include "hanzo/engine/stop.hpp"

#include <algorithm>
#include <random>
#include <vector>

#include "hanzo/core/error.hpp"
#include "tests/catch.hpp"

using namespace hz;

namespace {

struct Expected {
  std::string text;
  int matched = -1;
};

// The stop string that completes first; of those the longest; of equal ones the first.
Expected plain(const std::string& text, const std::vector<std::string>& stops) {
  for (std::size_t end = 1; end <= text.size(); ++end) {
    int best = -1;
    for (std::size_t i = 0; i < stops.size(); ++i)
      if (end >= stops[i].size() && text.compare(end - stops[i].size(), stops[i].size(), stops[i]) == 0 &&
          (best < 0 || stops[i].size() > stops[static_cast<std::size_t>(best)].size()))
        best = static_cast<int>(i);
    if (best >= 0) return {text.substr(0, end - stops[static_cast<std::size_t>(best)].size()), best};
  }
  return {text, -1};
}

// The longest end of the text that begins, but does not complete, a stop string.
std::size_t plain_pending(const std::string& text, const std::vector<std::string>& stops) {
  for (std::size_t n = text.size(); n > 0; --n)
    for (const std::string& s : stops)
      if (n < s.size() && text.compare(text.size() - n, n, s, 0, n) == 0) return n;
  return 0;
}

}  // namespace

TEST_CASE("stop strings are found over any borders, and only what could still match is held back", "[engine]") {
  std::mt19937 random(31);
  for (int round = 0; round < 3000; ++round) {
    const auto letters = 1 + random() % 3;
    const auto word = [&](std::size_t n) {
      std::string s;
      for (std::size_t i = 0; i < n; ++i) s += static_cast<char>('a' + random() % letters);
      return s;
    };
    std::vector<std::string> stops(random() % 4);
    for (auto& s : stops) s = word(1 + random() % 6);
    const std::string text = word(random() % 40);
    const Expected expected = plain(text, stops);
    StopMatcher m(stops);
    std::string out;
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t n = random() % 4;
      out += m.feed(text.substr(at, n));
      at = std::min(at + n, text.size());
      if (m.stopped()) {
        CHECK(m.pending() == 0);
        break;
      }
      CHECK(m.pending() == plain_pending(text.substr(0, at), stops));
      CHECK(out == text.substr(0, at - m.pending()));
    }
    out += m.flush();
    CHECK(out == expected.text);
    CHECK(m.matched() == expected.matched);
    CHECK(m.stopped() == (expected.matched >= 0));
    CHECK(m.feed("a").empty() == (m.stopped() || plain_pending("a", stops) > 0 || plain("a", stops).matched >= 0));
  }
}

TEST_CASE("a stop string inside one piece ends it there, and nothing follows", "[engine]") {
  StopMatcher m(std::vector<std::string>{"</s>", "END"});
  CHECK(m.feed("one </") == "one ");
  CHECK(m.pending() == 2);
  CHECK(m.feed("b> EN") == "</b> ");
  CHECK(m.feed("D and more") == "");
  CHECK(m.matched() == 1);
  CHECK(m.feed("more").empty());
  CHECK(m.flush().empty());
  m.reset();
  CHECK_FALSE(m.stopped());
  CHECK(m.feed("x") == "x");
}

TEST_CASE("characters of several bytes are never cut", "[engine]") {
  StopMatcher m(std::vector<std::string>{"éé", "日本"});
  CHECK(m.feed("caf") == "caf");
  CHECK(m.feed("é").empty());
  CHECK(m.feed("日") == "é");
  CHECK(m.flush() == "日");
  CHECK(m.feed("é").empty());
  CHECK(m.feed("é").empty());
  CHECK(m.matched() == 0);
}

TEST_CASE("a copy of a matcher goes on by itself", "[engine]") {
  StopMatcher a(std::vector<std::string>{"abc"});
  CHECK(a.feed("ab").empty());
  StopMatcher b = a;
  CHECK(a.feed("c").empty());
  CHECK(a.stopped());
  CHECK(b.feed("x") == "abx");
}

TEST_CASE("stop strings that cannot be meant are refused", "[engine]") {
  CHECK_THROWS_AS(StopMatcher(std::vector<std::string>{"a", ""}), Error);
  CHECK_THROWS_AS(StopMatcher(std::vector<std::string>{"\xA9"}), Error);
  CHECK_THROWS_AS(StopMatcher(std::vector<std::string>{std::string((1 << 20) + 1, 'a')}), Error);
  StopMatcher none;
  CHECK(none.feed("anything") == "anything");
}

TEST_CASE("long stop strings and long runs take linear time", "[engine]") {
  StopMatcher m(std::vector<std::string>{std::string(100'000, 'a') + "b", std::string(1000, 'a') + "c"});
  std::string out;
  for (int i = 0; i < 3000; ++i) out += m.feed(std::string(100, 'a'));
  CHECK(m.pending() == 100'000);
  out += m.feed("c");
  CHECK(m.matched() == 1);
  CHECK(out.size() == 299'000);
}
