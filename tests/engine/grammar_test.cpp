// SPDX-License-Identifier: Apache-2.0
// Token masks against a plain recogniser on random grammars and vocabularies; ends, UTF-8 and dead ends.
#include "hanzo/engine/grammar.hpp"

#include <chrono>
#include <random>

#include "hanzo/core/error.hpp"
#include "src/engine/grammar/body.hpp"
#include "tests/catch.hpp"
#include "tests/engine/plain_grammar.hpp"
#include "tests/engine/tables.hpp"
#include "tests/sanitized.hpp"

using namespace hz;

namespace {

std::vector<std::uint64_t> mask_of(const GrammarState& s) {
  std::vector<std::uint64_t> bits((static_cast<std::size_t>(s.table().size()) + 63) / 64, ~0ull);
  s.mask(bits);
  return bits;
}
bool has(const std::vector<std::uint64_t>& bits, std::int32_t id) {
  return ((bits[static_cast<std::size_t>(id) / 64] >> (id % 64)) & 1) != 0;
}
std::int32_t byte_id(char c) { return 3 + static_cast<unsigned char>(c); }

// A random body over a few letters, some of several bytes, and the rules r0 … r3.
std::string random_body(std::mt19937& random, int depth) {
  switch (random() % (depth > 3 ? 3 : 9)) {
    case 0: return "\"" + std::string(1, static_cast<char>('a' + random() % 3)) + (random() % 3 == 0 ? "b" : "") + "\"";
    case 1: return random() % 3 == 0 ? "[^a-c]" : random() % 2 == 0 ? "[ab]" : "[bé日]";
    case 2: return random() % 6 == 0 ? "\"\"" : "\"é\"";
    case 3: case 4: return random_body(random, depth + 1) + " " + random_body(random, depth + 1);
    case 5: return "(" + random_body(random, depth + 1) + " | " + random_body(random, depth + 1) + ")";
    case 6: return "(" + random_body(random, depth + 1) + ")" + std::string(1, "*+?"[random() % 3]);
    case 7: {
      const auto min = random() % 4;
      const auto top = random() % 3 == 0 ? 12 : 3;  // above 8 copies repetitions are counted
      return "(" + random_body(random, depth + 1) + "){" + std::to_string(min) + "," +
             (random() % 4 == 0 ? "" : std::to_string(min + random() % static_cast<unsigned>(top))) + "}";
    }
    default: return "r" + std::to_string(random() % 4);
  }
}

}  // namespace

TEST_CASE("masks equal a plain recogniser on random grammars", "[engine]") {
  std::mt19937 random(51);
  const int rounds = static_cast<int>(test::long_run(400));
  int grammars = 0, steps = 0;
  for (int round = 0; round < rounds; ++round) {
    std::string g = "root ::= " + random_body(random, 0) + " " + random_body(random, 0) + "\n";
    for (int r = 0; r < 4; ++r)
      g += "r" + std::to_string(r) + " ::= " + random_body(random, 1) + " | \"" + static_cast<char>('a' + r) + "\"\n";
    std::shared_ptr<const Grammar> grammar;
    try {
      grammar = Grammar::from_gbnf(g);
    } catch (const Error&) {
      continue;
    }
    // Tokens: every byte that matters, and random strings that also begin and end inside characters.
    std::vector<std::string> pieces{"", ""};
    const std::string alphabet = "aabbcc\xC3\xA9\xE6\x97\xA5x";
    for (const char c : alphabet) pieces.emplace_back(1, c);
    for (int i = 0; i < 40; ++i) {
      std::string p;
      for (std::size_t k = 2 + random() % 6; k > 0; --k)
        p += random() % 3 == 0 ? std::string("é日ab").substr(random() % 7, 1 + random() % 3) : std::string(1, "abc"[random() % 3]);
      pieces.push_back(p);
    }
    const auto table = test::table_of(pieces, {0});
    GrammarState state(grammar, table);
    test::PlainGrammar plain(grammar->body().tree);
    ++grammars;
    std::string text;
    for (int step = 0; step < 12; ++step) {
      INFO("round " << round << "\n" << g << "after '" << text << "'");
      REQUIRE(state.is_complete() == plain.complete());
      std::vector<std::uint64_t> bits(2, 0);
      try {
        state.mask(bits);
      } catch (const Error&) {  // the vocabulary may not be able to go on
      }
      std::vector<std::int32_t> allowed;
      for (std::int32_t id = 0; id < table->size(); ++id) {
        const std::string& p = pieces[static_cast<std::size_t>(id)];
        test::PlainGrammar after = plain;
        const bool expected = id == 0 ? plain.complete() : !p.empty() && after.read(p);
        INFO("token " << id << " '" << p << "'");
        REQUIRE(has(bits, id) == expected);
        GrammarState copy = state;
        REQUIRE(copy.accept(id) == expected);
        if (expected && id != 0) allowed.push_back(id);
      }
      if (allowed.empty()) break;
      const std::int32_t id = allowed[random() % allowed.size()];
      REQUIRE(state.accept(id));
      REQUIRE(plain.read(pieces[static_cast<std::size_t>(id)]));
      text += pieces[static_cast<std::size_t>(id)];
      ++steps;
    }
  }
  INFO(grammars << " grammars, " << steps << " steps");
  CHECK(grammars > rounds / 4);
  CHECK(steps > rounds * 7 / 4);
}

TEST_CASE("counted repetitions keep their bounds over tokens of several units", "[engine]") {
  const std::vector<std::string> more{"aa", "aaa", "aaaaa", "aaaaaaaa\"", "a\"", "aa\"x", "\"x", "\\n", "a\\", "\\na\""};
  const auto table = test::byte_table(more);
  const std::string chars = "char ::= [^\"\\\\] | \"\\\\\" [n\"]\n";
  for (const auto& [min, max] : std::vector<std::pair<int, int>>{{0, 20}, {3, 9}, {12, 12}, {10, -1}, {0, 100000}}) {
    const std::string bounds = "{" + std::to_string(min) + "," + (max < 0 ? "" : std::to_string(max)) + "}";
    const auto g = Grammar::from_gbnf("root ::= \"\\\"\" char" + bounds + " \"\\\"x\"\n" + chars);
    CHECK(g->body().automaton.loops.size() == 1);
    for (const auto& node : g->body().automaton.nodes)  // it stayed a loop
      if (node.kind == engine::Automaton::Kind::counted) CHECK(g->body().automaton.nodes.size() < 100);
    std::mt19937 random(52);
    for (int run = 0; run < 30; ++run) {
      GrammarState state(g, table);
      test::PlainGrammar plain(g->body().tree);
      for (int step = 0; step < 25; ++step) {
        const auto bits = mask_of(state);
        std::vector<std::int32_t> allowed;
        for (std::int32_t id = 3; id < table->size(); ++id) {
          if (id < 3 + 256 && random() % 8 != 0 && table->piece(id) != "\"" && table->piece(id) != "a") continue;
          test::PlainGrammar after = plain;
          const bool expected = after.read(table->piece(id));
          INFO(bounds << " step " << step << " '" << table->piece(id) << "'");
          REQUIRE(has(bits, id) == expected);
          if (expected && (id >= 3 + 256 || table->piece(id) == "a")) allowed.push_back(id);
        }
        if (allowed.empty()) break;
        const auto id = allowed[random() % allowed.size()];
        REQUIRE(state.accept(id));
        REQUIRE(plain.read(table->piece(id)));
      }
    }
  }
}

TEST_CASE("only ends of turns follow a complete grammar, and only complete ones end", "[engine]") {
  const auto table = test::byte_table({"{}", "{ }", "}x"});
  GrammarState s(Grammar::from_gbnf("root ::= \"{\" \"}\""), table);
  auto bits = mask_of(s);
  CHECK(has(bits, byte_id('{')));
  CHECK(has(bits, 3 + 256));
  CHECK_FALSE(has(bits, 3 + 257));
  CHECK_FALSE((has(bits, 0) || has(bits, 1) || has(bits, 2)));
  CHECK_FALSE(s.accept(0));
  CHECK(s.accept(byte_id('{')));
  CHECK_FALSE(s.is_complete());
  bits = mask_of(s);
  CHECK_FALSE(has(bits, 3 + 258));
  CHECK(s.accept(byte_id('}')));
  CHECK(s.is_complete());
  CHECK(s.is_final());
  bits = mask_of(s);
  for (std::int32_t id = 0; id < table->size(); ++id) CHECK(has(bits, id) == (id == 0 || id == 1));
  CHECK_FALSE(s.accept(byte_id('x')));
  CHECK(s.accept(1));
  CHECK(s.ended());
  CHECK_FALSE(s.accept(1));
}

TEST_CASE("a grammar that may go on allows both the end and more", "[engine]") {
  GrammarState s(Grammar::from_gbnf("root ::= [0-9]+"), test::byte_table());
  CHECK_FALSE(has(mask_of(s), 0));
  CHECK(s.accept(byte_id('7')));
  const auto bits = mask_of(s);
  CHECK((has(bits, 0) && has(bits, byte_id('1')) && !has(bits, byte_id('a'))));
  CHECK(s.is_complete());
  CHECK_FALSE(s.is_final());
}

TEST_CASE("tokens may split a character, and no byte goes astray", "[engine]") {
  // U+1F600 is F0 9F 98 80; U+1F601 ends in 81.
  const auto table = test::byte_table({"\xF0\x9F", "\x98", "\x98\x80", "\x98\x81", "\x80\"", "\x80"});
  GrammarState s(Grammar::from_gbnf("root ::= \"\\\"\" \"😀\" \"\\\"\""), table);
  CHECK(s.accept(byte_id('"')));
  CHECK(has(mask_of(s), 3 + 256));
  CHECK(s.accept(3 + 256));
  auto bits = mask_of(s);
  CHECK((has(bits, 3 + 257) && has(bits, 3 + 258) && !has(bits, 3 + 259) && !has(bits, 3 + 261)));
  CHECK(s.accept(3 + 257));
  bits = mask_of(s);
  CHECK((has(bits, 3 + 260) && has(bits, 3 + 261)));
  CHECK(s.accept(3 + 260));
  CHECK(s.is_final());
}

TEST_CASE("a vocabulary that cannot spell the grammar is an error, never free text", "[engine]") {
  const auto table = test::table_of({"", "a", "b"}, {0});
  GrammarState s(Grammar::from_gbnf("root ::= \"a\" [x-z]"), table);
  CHECK(s.accept(1));
  std::vector<std::uint64_t> bits(1, ~0ull);
  CHECK_THROWS_AS(s.mask(bits), Error);
  CHECK(bits[0] == 0);
  // Complete, but nothing can end the turn.
  GrammarState t(Grammar::from_gbnf("root ::= \"a\""), test::table_of({"a"}, {}));
  CHECK(t.accept(0));
  CHECK(t.is_final());
  CHECK_THROWS_AS(t.mask(bits), Error);
  std::vector<std::uint64_t> none;
  CHECK_THROWS_AS(t.mask(none), Error);
  CHECK_THROWS_AS(GrammarState(nullptr, table), Error);
}

TEST_CASE("tokens of equal text are all allowed; empty, control and foreign ids never", "[engine]") {
  const auto table = test::table_of({"", "a", "a", "", "b"}, {0});
  GrammarState s(Grammar::from_gbnf("root ::= [ab]*"), table);
  std::vector<std::uint64_t> bits(3, ~0ull);  // more words than the table needs, as for padded logits
  s.mask(bits);
  CHECK(bits == std::vector<std::uint64_t>{0b10111, 0, 0});
  CHECK_FALSE(s.accept(3));
  CHECK_FALSE(s.accept(-1));
  CHECK_FALSE(s.accept(5));
  CHECK_FALSE(s.accept(64));
}

TEST_CASE("a copy of a state is a branch of its own", "[engine]") {
  GrammarState a(Grammar::from_gbnf("root ::= \"(\" root \")\" | [xy]"), test::byte_table());
  CHECK(a.accept_text("(("));
  GrammarState b = a;
  CHECK(a.accept_text("x))"));
  CHECK(a.is_final());
  CHECK_FALSE(b.is_complete());
  CHECK_FALSE(b.accept_text("x)))"));
  CHECK(b.accept_text("(y)))"));
  CHECK(b.is_final());
  b = a;
  CHECK(b.is_final());
}

TEST_CASE("very ambiguous grammars stay exact or end in an error, in bounded time", "[engine]") {
  const auto start = std::chrono::steady_clock::now();
  const auto table = test::byte_table({std::string(64, 'a'), "aaaa"});
  for (const char* g : {"root ::= (\"a\"? \"a\"?){0,200} (\"a\" | \"aa\")* (\"aaa\"? \"a\"*){30} \"b\"",
                        "root ::= a a a a \"b\"\na ::= \"a\" a? a? a? | \"a\"", "root ::= s \"b\"\ns ::= \"a\" s s s | \"a\""}) {
    try {
      GrammarState s(Grammar::from_gbnf(g), table);
      for (int i = 0; i < 10; ++i) {
        mask_of(s);
        if (!s.accept(byte_id('a'))) break;
      }
    } catch (const Error& e) {
      CHECK(e.kind() == ErrorKind::unsupported);
    }
  }
  CHECK(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() < 20);
}
