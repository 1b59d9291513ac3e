// SPDX-License-Identifier: Apache-2.0
// GBNF: what it means, where it is wrong, and that it is written as it is read.
#include <string>
#include <vector>

#include "hanzo/core/error.hpp"
#include "hanzo/engine/grammar.hpp"
#include "tests/catch.hpp"
#include "tests/engine/tables.hpp"

using namespace hz;

namespace {

bool matches(const std::string& gbnf, const std::string& text) {
  GrammarState s(Grammar::from_gbnf(gbnf), test::byte_table());
  return s.accept_text(text) && s.is_complete();
}

void expect_error(const std::string& gbnf, const std::string& what, const std::string& where = "") {
  INFO(gbnf.substr(0, 200));
  try {
    Grammar::from_gbnf(gbnf);
    FAIL("accepted");
  } catch (const Error& e) {
    CHECK((e.kind() == ErrorKind::usage || e.kind() == ErrorKind::unsupported));
    CHECK_THAT(std::string(e.what()), Catch::Matchers::Contains(what));
    CHECK_THAT(e.where(), Catch::Matchers::Contains(where));
  }
}

std::string nested(const std::string& open, const std::string& inner, const std::string& close, int n) {
  std::string s;
  for (int i = 0; i < n; ++i) s += open;
  s += inner;
  for (int i = 0; i < n; ++i) s += close;
  return s;
}

}  // namespace

TEST_CASE("gbnf: literals, classes, escapes", "[engine]") {
  CHECK(matches("root ::= \"ab\"", "ab"));
  CHECK_FALSE(matches("root ::= \"ab\"", "a"));
  CHECK_FALSE(matches("root ::= \"ab\"", "abc"));
  CHECK(matches("root ::= \"\\x41\\u00e9\\U0001F600\\n\\t\\r\\\\\\\"\\[\\]\"", "A\xC3\xA9\xF0\x9F\x98\x80\n\t\r\\\"[]"));
  CHECK(matches("root ::= [a-c]", "b"));
  CHECK_FALSE(matches("root ::= [a-c]", "d"));
  CHECK(matches("root ::= [^a-c]", "d"));
  CHECK(matches("root ::= [^a-c]", "\xF0\x9F\x98\x80"));
  CHECK_FALSE(matches("root ::= [^a-c]", "\xFF"));
  CHECK(matches("root ::= [-a]", "-"));
  CHECK(matches("root ::= [a-]", "-"));
  CHECK(matches("root ::= [\\]\\\\^]+", "]\\^"));
  CHECK(matches("root ::= [ぁ-ゟ]+", "ひらがな"));
  CHECK(matches("root ::= .", "\n"));
  CHECK(matches("root ::= [^]", "x"));
  CHECK_FALSE(matches("root ::= .", "ab"));
}

TEST_CASE("gbnf: groups, alternatives, repetition, comments, newlines", "[engine]") {
  const std::string g =
      "# a list\nroot ::= (  # first\n  item |\n  \"none\"\n)\n\nitem ::= \"- \" [^\\n]+ \"\\n\" |\n  \"* \" word+\r\nword ::= [a-z]\n";
  CHECK(matches(g, "- x y\n"));
  CHECK(matches(g, "* abc"));
  CHECK(matches(g, "none"));
  CHECK_FALSE(matches(g, "- \n"));
  CHECK(matches("root ::= \"ab\"*", ""));
  CHECK(matches("root ::= \"ab\"*", "ababab"));
  CHECK(matches("root ::= \"a\"? \"b\"", "b"));
  CHECK(matches("root ::= [a]{3}", "aaa"));
  CHECK_FALSE(matches("root ::= [a]{3}", "aa"));
  CHECK(matches("root ::= [a]{ 2 , }", "aaaa"));
  CHECK_FALSE(matches("root ::= [a]{2,}", "a"));
  CHECK(matches("root ::= [a]{1,2}", "aa"));
  CHECK_FALSE(matches("root ::= [a]{1,2}", "aaa"));
  CHECK(matches("root ::= [a]{,2} \"b\"", "aab"));
  CHECK(matches("root ::= [a]{0} \"b\"", "b"));
  CHECK(matches("root ::= (\"a\"* )* \"b\"", "aab"));
  CHECK(matches("root ::= (\"a\"?){2,12} \"b\"", "b"));
  CHECK(matches("root ::= | \"a\"", ""));
  CHECK(matches("root ::= \"a\" |\nb ::= \"x\"", ""));
  CHECK(matches("root ::= a_1-B\na_1-B ::= \"x\"", "x"));
  CHECK(matches("x ::= \"x\"\nroot ::= x x", "xx"));
  CHECK(matches("root::=\"a\"", "a"));
}

TEST_CASE("gbnf: recursion, also on the right without end", "[engine]") {
  const std::string brackets = "root ::= \"(\" root \")\" | \"x\"";
  CHECK(matches(brackets, nested("(", "x", ")", 5000)));
  CHECK_FALSE(matches(brackets, nested("(", "x", ")", 50) + ")"));
  CHECK(matches("root ::= item root | item\nitem ::= [a-z] \",\"", nested("a,", "", "", 20000)));
}

TEST_CASE("gbnf: errors say what and where", "[engine]") {
  expect_error("root ::=", "no body", "line 1, column 1");
  expect_error("root ::=\n", "no body");
  expect_error("root ::= # nothing\nb ::= \"x\"", "no body", "line 1");
  expect_error("", "no rule 'root'");
  expect_error("# only\n", "no rule 'root'");
  expect_error("rot ::= \"a\"", "no rule 'root'");
  expect_error("root", "'::='", "line 1, column 5");
  expect_error("root := \"a\"", "'::='");
  expect_error("::= \"a\"", "a rule's name", "line 1, column 1");
  expect_error("root ::= \"a", "end the literal", "line 1, column 12");
  expect_error("root ::= \"a\n\"", "end the literal");
  expect_error("root ::= [a", "end the set");
  expect_error("root ::= []", "empty");
  expect_error("root ::= [^\\x00-\\U0010FFFF]", "empty");
  expect_error("root ::= [b-a]", "backwards");
  expect_error("root ::= (\"a\"", "')'");
  expect_error("root ::= \"a\")", "end of the rule", "line 1, column 13");
  expect_error("root ::= \"\\q\"", "unknown escape");
  expect_error("root ::= \"\\x4\"", "2 hexadecimal digits");
  expect_error("root ::= \"\\uD800\"", "no Unicode character");
  expect_error("root ::= \"\\U00110000\"", "no Unicode character");
  expect_error("root ::= \"\\", "escaped character");
  expect_error("root ::= \"\xFF\"", "not valid UTF-8");
  expect_error("root ::= [\xC3]", "not valid UTF-8");
  expect_error("root ::= \"a\"{", "number of repetitions");
  expect_error("root ::= \"a\"{}", "number of repetitions");
  expect_error("root ::= \"a\"{,}", "number of repetitions");
  expect_error("root ::= \"a\"{2", "'}'");
  expect_error("root ::= \"a\"{3,2}", "less than the least");
  expect_error("root ::= \"a\"{99999999999999999999}", "repetitions");
  expect_error("root ::= *", "end of the rule");
  expect_error("root ::= \"a\"\nroot ::= \"b\"", "defined twice", "line 2");
  expect_error("root ::= a", "'a' is not defined", "line 1, column 10");
  expect_error("root ::= \"x\"\nb ::= c", "'c' is not defined", "line 2");
  expect_error("root ::= <think>", "not built");
  expect_error("root ::= !<[5]>", "not built");
}

TEST_CASE("gbnf: left recursion and rules without end are refused by name", "[engine]") {
  expect_error("root ::= root \"a\" | \"b\"", "left recursion: root -> root");
  expect_error("root ::= a\na ::= b \"x\" | \"y\"\nb ::= a", "left recursion");
  expect_error("root ::= e root \"x\" | \"y\"\ne ::= \"\" | \"z\"", "left recursion");
  expect_error("root ::= (\"a\"* root)? \"b\"", "left recursion");
  expect_error("root ::= \"x\"\nb ::= b \"a\" | \"c\"", "left recursion: b -> b");
  expect_error("root ::= \"a\" root", "can never end");
  expect_error("root ::= \"a\" b | \"c\"\nb ::= \"(\" b \")\"", "'b' can never end");
}

TEST_CASE("gbnf: hostile sizes end in an error, soon", "[engine]") {
  expect_error("root ::= " + nested("(", "\"a\"", ")", 10'000), "nested more than");
  expect_error("root ::= (((\"ab\" \"cd\"?){1000000} \"e\"?){1000000}){1000000}", "too large");
  expect_error("root ::= " + std::string(5'000'000, ' ') + "\"a\"", "4 MiB");
  // Chains of rules are fine, in any order, and so are long literals, sets and repetitions of characters.
  std::string chain = "root ::= r0\n";
  for (int i = 0; i < 50'000; ++i) chain += "r" + std::to_string(i) + " ::= r" + std::to_string(i + 1) + "\n";
  chain += "r50000 ::= \"a\"\n";
  CHECK(matches(chain, "a"));
  CHECK(matches("root ::= \"" + std::string(100'000, 'a') + "\"", std::string(100'000, 'a')));
  CHECK(matches("root ::= [a-z]{0,1000000}", std::string(5000, 'q')));
  std::string set = "root ::= [";
  for (int i = 20'000; i > 0; --i) set += "日本é";
  CHECK(matches(set + "]", "本"));
}

TEST_CASE("gbnf: what is written reads back as the same language", "[engine]") {
  const std::string g = "root ::= (\"a\\n\\\"\\\\\" | [^\\\"\\\\-^]{2,3} x)* y? (\"p\" | \"q\" \"r\")+ [a\\]\\-z]{3} [\\x00-\\x1F]{4,} .\n"
                        "x ::= (\"k\"{2})* | \"\"\ny ::= [ぁ-ゟ] \"日本\"\n";
  const std::string once = Grammar::from_gbnf(g)->gbnf();
  CHECK(Grammar::from_gbnf(once)->gbnf() == once);
  CHECK_THAT(once, Catch::Matchers::Contains("y ::= [ぁ-ゟ] \"日本\""));
}

TEST_CASE("gbnf: random bytes never do worse than an error", "[engine]") {
  std::mt19937 random(43);
  const std::string alphabet = "ab \n\t\"[]()|*+?{},:=#^-\\x1.<!\xC3\xA9";
  int accepted = 0;
  for (int round = 0; round < 20000; ++round) {
    std::string g = "root ::= ";
    const std::size_t n = random() % 25;
    for (std::size_t i = 0; i < n; ++i) g += alphabet[random() % alphabet.size()];
    try {
      Grammar::from_gbnf(g);
      ++accepted;
    } catch (const Error&) {
    }
  }
  CHECK(accepted > 50);
}
