// SPDX-License-Identifier: Apache-2.0
// Bounds on numbers against comparison of the values, for texts around the bounds and at random.
#include "src/engine/schema/number_range.hpp"

#include <random>

#include "src/engine/grammar/body.hpp"
#include "tests/catch.hpp"
#include "tests/engine/tables.hpp"

using namespace hz;
using engine::Bound;
using engine::Decimal;

namespace {

Decimal dec(std::string_view s) { return *engine::decimal_of(s); }
std::string text_of(const Decimal& d) { return (d.negative ? "-" : "") + d.whole + (d.fraction.empty() ? "" : "." + d.fraction); }

// The state before a number between the bounds; nothing when there is none.
std::optional<GrammarState> start(std::optional<Bound> lo, std::optional<Bound> hi, bool whole) {
  static const auto table = test::byte_table();
  engine::GrammarTree tree;
  engine::JsonRules json(tree);
  tree.root = tree.rule("root");
  const auto expr = whole ? engine::integers_between(json, lo, hi) : engine::numbers_between(json, lo, hi);
  if (expr == engine::kNoExpr) return std::nullopt;
  tree.define(tree.root, expr);
  return GrammarState(engine::make_grammar(std::move(tree)), table);
}
bool takes(const GrammarState& s, const std::string& text) {
  GrammarState copy = s;
  return copy.accept_text(text) && copy.is_complete();
}
bool inside(const Decimal& v, const std::optional<Bound>& lo, const std::optional<Bound>& hi) {
  const int a = lo ? engine::compare(v, lo->value) : 1, b = hi ? engine::compare(v, hi->value) : -1;
  return (a > 0 || (a == 0 && !lo->exclusive)) && (b < 0 || (b == 0 && !hi->exclusive));
}

}  // namespace

TEST_CASE("decimal numbers are read from JSON's notation and compared", "[engine]") {
  CHECK(text_of(dec("12.50")) == "12.5");
  CHECK(text_of(dec("-0.0")) == "0");
  CHECK(text_of(dec("1e3")) == "1000");
  CHECK(text_of(dec("1.25E+1")) == "12.5");
  CHECK(text_of(dec("1e-07")) == "0.0000001");
  CHECK(text_of(dec("-120e-1")) == "-12");
  CHECK(text_of(dec("0.001")) == "0.001");
  CHECK_FALSE(engine::decimal_of("1e61").has_value());
  CHECK_FALSE(engine::decimal_of("1e-61").has_value());
  CHECK_FALSE(engine::decimal_of("1e999999999999").has_value());
  CHECK(text_of(dec("0e999999999999")) == "0");
  std::mt19937 random(61);
  for (int i = 0; i < 5000; ++i) {
    const int a = static_cast<int>(random() % 4000) - 2000, b = static_cast<int>(random() % 4000) - 2000;
    const auto scaled = [](int v) { return std::to_string(v) + "e-2"; };
    CHECK(engine::compare(dec(scaled(a)), dec(scaled(b))) == (a < b ? -1 : a > b ? 1 : 0));
  }
}

TEST_CASE("integers between bounds are exactly those", "[engine]") {
  std::mt19937 random(62);
  for (int round = 0; round < 400; ++round) {
    const int range = round % 2 ? 30 : 3000;
    const auto pick = [&] { return static_cast<int>(random() % static_cast<unsigned>(range)) - range / 2; };
    std::optional<Bound> lo, hi;
    int a = pick(), b = pick();
    if (a > b && random() % 8 != 0) std::swap(a, b);
    const std::string half = random() % 4 == 0 ? ".5" : "";
    if (random() % 5 != 0) lo = Bound{dec(std::to_string(a) + half), random() % 3 == 0};
    if (random() % 5 != 0) hi = Bound{dec(std::to_string(b)), random() % 3 == 0};
    const auto s = start(lo, hi, true);
    bool any = false;
    for (int v = -range / 2 - 12; v <= range / 2 + 12; v += range > 100 ? 1 + static_cast<int>(random() % 7) : 1) {
      const std::string text = std::to_string(v);
      const bool expected = inside(dec(text), lo, hi);
      any = any || expected;
      INFO((lo ? text_of(lo->value) : "-") << (lo && lo->exclusive ? " < " : " <= ") << text << (hi && hi->exclusive ? " < " : " <= ")
                                           << (hi ? text_of(hi->value) : "-"));
      REQUIRE((s && takes(*s, text)) == expected);
    }
    if (any) REQUIRE(s.has_value());
    if (!s) continue;
    for (const char* bad : {"", "-", "00", "01", "-01", "1.0", "1e1", "+1", " 1"}) CHECK_FALSE(takes(*s, bad));
  }
}

TEST_CASE("numbers between bounds are exactly those, by their digits", "[engine]") {
  std::mt19937 random(63);
  for (int round = 0; round < 400; ++round) {
    const auto pick = [&] {
      std::string s = std::to_string(random() % (round % 3 == 0 ? 3 : 200));
      if (random() % 3 != 0) s += "." + std::to_string(random() % (round % 2 ? 10 : 1000));
      return (random() % 2 ? "-" : "") + s;
    };
    std::optional<Bound> lo, hi;
    Decimal a = dec(pick()), b = dec(pick());
    if (engine::compare(a, b) > 0 && random() % 8 != 0) std::swap(a, b);
    if (random() % 5 != 0) lo = Bound{a, random() % 2 == 0};
    if (random() % 5 != 0) hi = Bound{b, random() % 2 == 0};
    const auto s = start(lo, hi, false);
    std::vector<std::string> texts;
    for (int i = 0; i < 60; ++i) texts.push_back(pick());
    for (const Decimal& d : {a, b})
      for (const char* more : {"", "0", "1", "01", "9"}) {
        const std::string base = text_of(d);
        texts.push_back(*more == '\0' ? base : base + (d.fraction.empty() ? "." : "") + more);
        if (!d.fraction.empty())
          texts.push_back(base.substr(0, base.size() - 1) + "9"), texts.push_back(base.substr(0, base.size() - 1) + "0");
      }
    for (std::string& text : texts) {
      if (text.back() == '.') text += '0';
      const Decimal v = dec(text);
      const bool negative_zero = text[0] == '-' && v.is_zero();
      INFO((lo ? text_of(lo->value) : "-") << (lo && lo->exclusive ? " < " : " <= ") << text << (hi && hi->exclusive ? " < " : " <= ")
                                           << (hi ? text_of(hi->value) : "-"));
      REQUIRE((s && takes(*s, text)) == (inside(v, lo, hi) && !negative_zero));
    }
    if (!s) continue;
    for (const char* bad : {"", "-", "00", "01.5", "1.", ".5", "1e1", "+1"}) CHECK_FALSE(takes(*s, bad));
  }
}
