// SPDX-License-Identifier: Apache-2.0
// WordPiece, unigram and RWKV tokenizers on small vocabularies.
#include <algorithm>

#include "hanzo/core/error.hpp"
#include "hanzo/text/tokenizer.hpp"
#include "tests/catch.hpp"
#include "tests/text/charsmap_builder.hpp"
#include "tests/text/synthetic.hpp"

using namespace hz;
using test::texts_of;
using Type = text::TokenType;
using text::Tokenizer;

namespace {

test::VocabBuilder bert_vocab() {
  test::VocabBuilder v;
  v.add("[PAD]", Type::control);
  v.add("[UNK]", Type::unknown);
  v.add("[CLS]", Type::control);
  v.add("[SEP]", Type::control);
  for (const char* t : {"▁hello", "▁wor", "ld", "▁cafe", "▁.", "▁,", "▁日", "▁本", "▁un", "able", "▁a", "a", "▁i"}) v.add(t);
  return v;
}

io::Metadata bert_metadata() {
  io::Metadata m = bert_vocab().metadata("bert");
  test::set_id(m, "tokenizer.ggml.unknown_token_id", 1);
  test::set_id(m, "tokenizer.ggml.cls_token_id", 2);
  test::set_id(m, "tokenizer.ggml.seperator_token_id", 3);
  return m;
}

double seconds(const Tokenizer& t, const std::string& s) {
  return test::cpu_seconds([&] { t.encode(s); });
}

}  // namespace

TEST_CASE("wordpiece: words, punctuation and Han characters, in lower case without accents", "[text]") {
  const auto t = Tokenizer::from_gguf(bert_metadata());
  CHECK(texts_of(*t, t->encode("Hello, WORLD.")) == "[CLS]|▁hello|▁,|▁wor|ld|▁.|[SEP]");
  CHECK(texts_of(*t, t->encode("Café", {.add_special = false})) == "▁cafe");
  CHECK(texts_of(*t, t->encode("Cafe\u0301 日本", {.add_special = false})) == "▁cafe|▁日|▁本");
  CHECK(texts_of(*t, t->encode("unable unab hello", {.add_special = false})) == "▁un|able|[UNK]|▁hello");
  CHECK(texts_of(*t, t->encode("hel\u200blo\xFF", {.add_special = false})) == "▁hello");  // control and ill-formed bytes go
  CHECK(texts_of(*t, t->encode("a▁hello", {.add_special = false})) == "[UNK]");           // a mark in a text is no mark
  const auto e = t->encode_with_offsets(" Caf\u00e9, a", {.add_special = false});
  CHECK(e.offsets == std::vector<text::Span>{{1, 6}, {6, 7}, {8, 9}});
  CHECK(t->decode(t->encode("Hello, world.")) == " hello , world .");
  CHECK(t->decode(t->encode("Hello, world."), {.clean_up = true}) == " hello, world.");
}

TEST_CASE("wordpiece: case and accents stay where the file says so", "[text]") {
  io::Metadata m = bert_metadata();
  test::set_bool(m, "tokenizer.ggml.normalizer.lowercase", false);
  const auto t = Tokenizer::from_gguf(m);
  CHECK(texts_of(*t, t->encode("hello Hello cafe café", {.add_special = false})) == "▁hello|[UNK]|▁cafe|[UNK]");
}

TEST_CASE("wordpiece: a word of a million letters takes linear time", "[text]") {
  const auto t = Tokenizer::from_gguf(bert_metadata());
  CHECK(seconds(*t, std::string(test::long_run(1'000'000), 'a')) < 2);
  CHECK(seconds(*t, std::string(test::long_run(1'000'000), '.')) < 2);
}

TEST_CASE("unigram: the best sum of scores, unknown stretches as one", "[text]") {
  test::VocabBuilder v;
  v.add("<pad>", Type::control);
  v.add("</s>", Type::control);
  v.add("<unk>", Type::unknown);
  v.add("▁", Type::normal, -3);
  v.add("a", Type::normal, -4);
  v.add("b", Type::normal, -4);
  v.add("ab", Type::normal, -6);
  v.add("▁ab", Type::normal, -8);
  v.add("aba", Type::normal, -20);
  v.add("fi", Type::normal, -5);
  io::Metadata m = v.metadata("t5");
  test::set_bool(m, "tokenizer.ggml.add_space_prefix", true);
  test::set_bool(m, "tokenizer.ggml.remove_extra_whitespaces", true);
  const auto t = Tokenizer::from_gguf(m);
  CHECK(texts_of(*t, t->encode("aba")) == "▁ab|a|</s>");
  CHECK(texts_of(*t, t->encode("  ab   ab  ")) == "▁ab|▁ab|</s>");
  CHECK(texts_of(*t, t->encode("axyzb", {.add_special = false})) == "▁|a|<unk>|b");
  CHECK(texts_of(*t, t->encode("   ", {.add_special = false})).empty());
  CHECK(texts_of(*t, t->encode("a\xFF\xFE", {.add_special = false})) == "▁|a|<unk>");
  CHECK(t->decode(t->encode("ab ab")) == "ab ab");
  const auto e = t->encode_with_offsets(" ab  xyz", {.add_special = false});
  CHECK(texts_of(*t, e.ids) == "▁ab|▁|<unk>");
  CHECK(e.offsets == std::vector<text::Span>{{1, 3}, {3, 4}, {5, 8}});
  CHECK(seconds(*t, std::string(test::long_run(1'000'000), 'a')) < 2);
  CHECK(seconds(*t, std::string(test::long_run(1'000'000), ' ')) < 2);
}

TEST_CASE("kinds: text that no token covers does not become the end of a turn, whatever the file calls unknown", "[text]") {
  for (const char* kind : {"llama", "t5", "bert"}) {
    for (const std::uint32_t unknown : {1u, 2u}) {
      test::VocabBuilder v;
      v.add("[CLS]", Type::control);
      v.add("</s>", Type::control);
      v.add("<unk>", Type::unknown);
      v.add("a", Type::normal, -4);
      v.add("▁a", Type::normal, -3);
      v.add("▁", Type::normal, -5);
      io::Metadata m = v.metadata(kind);
      test::set_id(m, "tokenizer.ggml.unknown_token_id", unknown);
      test::set_id(m, "tokenizer.ggml.eos_token_id", 1);
      test::set_id(m, "tokenizer.ggml.bos_token_id", 0);
      const auto t = Tokenizer::from_gguf(m);
      INFO(kind);
      INFO(unknown);
      for (const char* words : {"a 漢 a", "漢"}) {
        const auto ids = t->encode(words, {.add_special = false});
        INFO(words);
        CHECK(std::count(ids.begin(), ids.end(), 1) == 0);
        CHECK((std::count(ids.begin(), ids.end(), 2) > 0) == (unknown == 2));
      }
    }
  }
}

TEST_CASE("unigram: byte tokens in place of the unknown one, where all are there", "[text]") {
  test::VocabBuilder v;
  v.add("<pad>", Type::control);
  v.add("</s>", Type::control);
  v.add("<unk>", Type::unknown);
  v.add("a", Type::normal, -1);
  v.add_byte_tokens();
  const auto t = Tokenizer::from_gguf(v.metadata("t5"));
  CHECK(texts_of(*t, t->encode("aü\xFF", {.add_special = false})) == "a|<0xC3>|<0xBC>|<0xFF>");
  CHECK(t->decode(t->encode("aü\xFF")) == "aü\xFF");
}

TEST_CASE("unigram: a compiled character map rewrites the longest match", "[text]") {
  test::VocabBuilder v;
  v.add("<pad>", Type::control);
  v.add("</s>", Type::control);
  v.add("<unk>", Type::unknown);
  for (const char* c : {"f", "i", "a", "x", "▁", "1"}) v.add(c, Type::normal, -2);
  io::Metadata m = v.metadata("t5");
  const std::string blob = test::charsmap({{"\uFB01", "fi"}, {"A", "a"}, {"AA", "x"}, {"\u00a0", " "}, {"\u2460", "1"}, {"\u00ad", ""}});
  m.set("tokenizer.ggml.precompiled_charsmap", {io::Array{std::vector<std::uint8_t>(blob.begin(), blob.end())}});
  const auto t = Tokenizer::from_gguf(m);
  const auto e = t->encode_with_offsets("A\uFB01AAA\u00a0\u00ad\u2460", {.add_special = false});
  CHECK(texts_of(*t, e.ids) == "a|f|i|x|a|▁|1");
  CHECK(e.offsets == std::vector<text::Span>{{0, 1}, {1, 4}, {1, 4}, {4, 6}, {6, 7}, {7, 9}, {11, 14}});
}

TEST_CASE("unigram: a broken character map is refused or does no harm", "[text]") {
  test::VocabBuilder v;
  for (int i = 0; i < 4; ++i) v.add(std::string(1, static_cast<char>('a' + i)));
  const auto load = [&](const std::string& blob) {
    io::Metadata m = v.metadata("t5");
    m.set("tokenizer.ggml.precompiled_charsmap", {io::Array{std::vector<std::uint8_t>(blob.begin(), blob.end())}});
    return Tokenizer::from_gguf(m);
  };
  const std::string good = test::charsmap({{"A", "a"}, {"BB", "b"}});
  CHECK_THROWS_AS(load("abc"), Error);
  CHECK_THROWS_AS(load(std::string("\xFF\xFF\xFF\xFF", 4) + "abcd"), Error);
  CHECK_THROWS_AS(load(good.substr(0, good.size() - 1)), Error);
  for (std::size_t i = 4; i < good.size() - 1; i += test::kStride)
    for (const char c : {'\xFF', '\x7F', '\x01'}) {
      std::string broken = good;
      broken[i] = c;
      CHECK_NOTHROW(load(broken)->encode("AABBab B"));
    }
}

TEST_CASE("rwkv: the longest token again and again, over any bytes", "[text]") {
  test::VocabBuilder v;
  v.add("<s>", Type::control);
  for (const char* t : {"a", "ab", "abc", "\\n", "\\x00", "\\xe4\\xb8", "\\xad", "\\\\", "\\'", "\\t\\t"}) v.add(t);
  const auto t = Tokenizer::from_gguf(v.metadata("rwkv"));
  CHECK(t->encode("abcab") == std::vector<text::TokenId>{3, 2});
  CHECK(t->encode("a\n") == std::vector<text::TokenId>{1, 4});
  CHECK(t->encode(std::string("\0", 1)) == std::vector<text::TokenId>{5});
  CHECK(t->encode("\u4e2d") == std::vector<text::TokenId>{6, 7});
  CHECK(t->encode("\\'") == std::vector<text::TokenId>{8, 9});
  CHECK(t->encode("\t\t\t") == std::vector<text::TokenId>{10});  // a lone tab is no token, and there is no unknown one
  CHECK(t->decode(t->encode("abc\n\u4e2d\\")) == "abc\n\u4e2d\\");
  CHECK(t->encode("<s>", {.parse_special = true}) == std::vector<text::TokenId>{0});
  for (const char* broken : {"\\", "\\x", "\\x1", "\\xzz"}) {
    test::VocabBuilder b;
    b.add("a");
    b.add(broken);
    CHECK_THROWS_AS(Tokenizer::from_gguf(b.metadata("rwkv")), Error);
  }
}

TEST_CASE("plamo2: the least cost from the end, bytes for the rest", "[text]") {
  test::VocabBuilder v;
  v.add("<|plamo:unk|>", Type::unknown);
  v.add("<|plamo:bos|>", Type::control);
  v.add("<|plamo:eos|>", Type::control);
  v.add("<|plamo:pad|>", Type::control);
  v.add_byte_tokens();
  v.add("a", Type::normal, -1);
  v.add("b", Type::normal, -1);
  v.add("ab", Type::normal, -1.5);
  v.add("ba", Type::normal, -2);
  v.add(" a", Type::normal, -3);
  const auto t = Tokenizer::from_gguf(v.metadata("plamo2"));
  CHECK(texts_of(*t, t->encode("aba")) == "ab|a");
  CHECK(texts_of(*t, t->encode("ba")) == "ba");  // as cheap as b, a: the longer token
  CHECK(texts_of(*t, t->encode("a \u00e9 a")) == "a|<0x20>|<0xC3>|<0xA9>| a");
  CHECK(t->decode(t->encode("a\xFF\u65e5 ab")) == "a\xFF\u65e5 ab");
  CHECK(texts_of(*t, t->encode("\uFEFF" "ab")) == "ab");
  CHECK(seconds(*t, std::string(test::long_run(1'000'000), 'a')) < 2);
  test::VocabBuilder lacking;
  lacking.add("a");
  CHECK_THROWS_AS(Tokenizer::from_gguf(lacking.metadata("plamo2")), Error);
}

TEST_CASE("whitespace bpe: words are cut at white space, which is lost", "[text]") {
  test::VocabBuilder v;
  for (const char* c : {"a", "b", "c"}) v.add(c);
  v.merge("a", "b");
  io::Metadata m = v.metadata("whitespace");
  test::set_bool(m, "tokenizer.ggml.normalizer.lowercase", true);
  const auto t = Tokenizer::from_gguf(m);
  CHECK(texts_of(*t, t->encode(" AB  cab\n")) == "ab|c|ab");
}

TEST_CASE("an HTML end tag is text where the file does not call it control", "[text]") {
  test::VocabBuilder v;
  v.add("<unk>", Type::unknown);
  v.add("<s>", Type::control);
  v.add("<e>", Type::control);
  for (const char* c : {"<", "/", "s", ">"}) v.add(c, Type::normal, -9);
  v.add("</", Type::normal, -1);
  v.add("</s", Type::normal, -1);
  const auto id = v.add("</s>", Type::normal, -1);
  io::Metadata m = v.metadata("llama");
  test::set_bool(m, "tokenizer.ggml.add_space_prefix", false);
  const auto t = Tokenizer::from_gguf(m);
  CHECK(t->encode("</s>", {.add_special = false}) == std::vector<text::TokenId>{id});
  CHECK_FALSE(t->is_control(id));
  CHECK_FALSE(t->is_end_of_turn(id));
  // The same name as a control token is never made of text, and ends a turn.
  v.types[static_cast<std::size_t>(id)] = static_cast<std::int32_t>(Type::control);
  m = v.metadata("llama");
  test::set_bool(m, "tokenizer.ggml.add_space_prefix", false);
  const auto c = Tokenizer::from_gguf(m);
  CHECK(texts_of(*c, c->encode("</s>", {.add_special = false})) == "</s|>");
  CHECK(c->encode("</s>", {.add_special = false, .parse_special = true}) == std::vector<text::TokenId>{id});
  CHECK(c->is_end_of_turn(id));
}

TEST_CASE("hash: changes with everything that decides ids", "[text]") {
  const auto hash = [](const test::VocabBuilder& v, const std::string& pre) {
    return Tokenizer::from_gguf(v.metadata("gpt2", pre))->hash();
  };
  const test::VocabBuilder v = test::small_bpe();
  const std::string first = hash(v, "gpt-2");
  CHECK(first.size() == 64);
  CHECK(hash(v, "gpt-2") == first);
  CHECK(hash(v, "smollm") != first);
  test::VocabBuilder w = v;
  std::swap(w.merges[0], w.merges[1]);
  CHECK(hash(w, "gpt-2") != first);
  w = v;
  w.types[3] = static_cast<std::int32_t>(Type::control);
  CHECK(hash(w, "gpt-2") != first);
  w = v;
  w.add("another");
  CHECK(hash(w, "gpt-2") != first);
}
