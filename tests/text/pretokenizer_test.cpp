// SPDX-License-Identifier: Apache-2.0
// Pre-tokenizers: the pieces that Hugging Face's library cuts with the models' own patterns.
#include "src/text/pretokenizer.hpp"

#include <fstream>
#include <nlohmann/json.hpp>

#include "hanzo/core/error.hpp"
#include "tests/catch.hpp"

using namespace hz::text::detail;
using nlohmann::json;

namespace {

std::vector<std::string> pieces_of(const PreTokenizer& pre, const std::string& text) {
  PreTokenizer::Splitter splitter(pre);
  std::vector<std::string> out;
  for (const auto& p : splitter.split(text)) out.push_back(text.substr(p.begin, p.end - p.begin));
  return out;
}

std::vector<std::string> cut(std::vector<CutStep> steps, const std::string& text) { return pieces_of(PreTokenizer(steps), text); }

}  // namespace

TEST_CASE("pre-tokenizers: pieces equal those of the models' own patterns", "[text]") {
  const json data = json::parse(std::ifstream(std::string(HZ_TEST_DATA) + "/tokenizers/splits.json"));
  const auto texts = data.at("texts").get<std::vector<std::string>>();
  REQUIRE(data.at("pieces").size() >= 20);
  for (const auto& [name, lists] : data.at("pieces").items()) {
    const PreSpec* spec = find_pre(name);
    REQUIRE(spec != nullptr);
    const PreTokenizer pre(spec->steps);
    for (std::size_t i = 0; i < texts.size(); ++i) {
      INFO(name << ": " << texts[i]);
      CHECK(pieces_of(pre, texts[i]) == lists[i].get<std::vector<std::string>>());
    }
  }
}

TEST_CASE("pre-tokenizers: every known name compiles and keeps all bytes", "[text]") {
  const std::string text =
      "It's 1234567 h\u00e9llo  W\u00d6RLD\n\n\t\u65e5\u672c\u8a9e \u30ab\u30bf, x=(y);  \U0001F600 \u0e44\u0e17\u0e22   ";
  REQUIRE(pre_names().size() > 80);
  for (const auto name : pre_names()) {
    std::string joined;
    for (const auto& p : pieces_of(PreTokenizer(find_pre(name)->steps), text)) {
      CHECK_FALSE(p.empty());
      joined += p;
    }
    INFO(name);
    CHECK(joined == text);
  }
}

TEST_CASE("pre-tokenizers: each way of cutting", "[text]") {
  using Pieces = std::vector<std::string>;
  CHECK(cut({{Cut::isolate, "-"}}, "a--b-") == Pieces{"a", "-", "-", "b", "-"});
  CHECK(cut({{Cut::contiguous, "-"}}, "a--b-") == Pieces{"a", "--", "b", "-"});
  CHECK(cut({{Cut::remove, "-"}}, "a--b-") == Pieces{"a", "b"});
  CHECK(cut({{Cut::merge_next, "-"}}, "a--b-") == Pieces{"a", "-", "-b", "-"});
  CHECK(cut({{Cut::merge_previous, "-"}}, "a--b-") == Pieces{"a-", "-", "b-"});
  CHECK(cut({{Cut::keep_matches, "[a-z]+"}}, "ab-c--") == Pieces{"ab", "c"});
  CHECK(cut({{Cut::keep_matches, "x"}}, "---") == Pieces{});
  CHECK(cut({{Cut::isolate, "(?=b)"}}, "abab") == Pieces{"a", "ba", "b"});
  CHECK(cut({{Cut::digits, {}}}, "a1234567b12") == Pieces{"a1", "234", "567b12"});
  CHECK(cut({{Cut::word_digits, {}}}, "a1234567 12345b") == Pieces{"a", "1", "234", "567", " 12345b"});
  CHECK(cut({}, "abc") == Pieces{"abc"});
  CHECK(cut({{Cut::isolate, "-"}}, "") == Pieces{});
}

TEST_CASE("patterns: classes mean what the tokenizers' engines mean", "[text]") {
  const auto match = [](const char* pattern, const std::string& text) {
    const Regex r(pattern);
    Regex::Matcher m(r);
    const auto found = m.search(text, 0);
    return found && found->first == 0 && found->second == text.size();
  };
  CHECK(match("\\s+", " \t\n\v\f\r\u0085\u00a0\u1680\u2003\u2028\u3000"));
  CHECK_FALSE(match("\\s", "\u180e"));  // no white space since Unicode 6.3
  CHECK_FALSE(match("\\s", "\u200b"));
  CHECK(match("\\S", "\u180e"));
  CHECK(match("[^\\s]", "x"));
  CHECK(match("\\w+", "a\u0301\u06601_"));
  CHECK(match("[\\p{L}&&[^\\p{Han}]]+", "ab\u3042"));
  CHECK_FALSE(match("[\\p{L}&&[^\\p{Han}]]", "\u4e00"));
  CHECK_FALSE(match("\\p{Han}", "\u3002"));  // by script, not by script extensions
  CHECK(match("[a[bc]d]+", "abcd"));
  CHECK(match("[]a]+", "]a"));
  CHECK_THROWS_AS(Regex("[a"), hz::Error);
  CHECK_THROWS_AS(Regex("[a&&b]"), hz::Error);
  CHECK_THROWS_AS(Regex("(a"), hz::Error);
}
