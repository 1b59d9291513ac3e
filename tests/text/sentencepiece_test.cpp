// SPDX-License-Identifier: Apache-2.0
// SentencePiece BPE on a small vocabulary: space prefix, merges by score, byte fallback, control tokens.
#include "hanzo/core/error.hpp"
#include "hanzo/text/stream_decoder.hpp"
#include "hanzo/text/tokenizer.hpp"
#include "tests/catch.hpp"
#include "tests/text/synthetic.hpp"

using namespace hz;
using test::texts_of;
using Type = text::TokenType;

namespace {

// <unk> 0, <s> 1, </s> 2, then bytes, then characters and pieces; better scores for longer pieces.
test::VocabBuilder vocab() {
  test::VocabBuilder v;
  v.add("<unk>", Type::unknown);
  v.add("<s>", Type::control);
  v.add("</s>", Type::control);
  v.add_byte_tokens();
  for (const char* c : {"▁", "H", "e", "l", "o", "W", "r", "d", "a", "<", ">", "s", "/"}) v.add(c, Type::normal, -20);
  const char* pieces[] = {"▁H",     "ll", "▁He",  "llo", "▁Hello", "▁W",    "or", "▁Wor", "ld",
                          "▁World", "aa", "aaaa", "▁▁",  "Wo",     "World", "<s", "wor"};
  float score = -1;
  for (const char* p : pieces) v.add(p, Type::normal, score--);
  return v;
}

std::shared_ptr<const text::Tokenizer> make(bool prefix = true) {
  io::Metadata m = vocab().metadata("llama");
  if (!prefix) test::set_bool(m, "tokenizer.ggml.add_space_prefix", false);
  return text::Tokenizer::from_gguf(m);
}

}  // namespace

TEST_CASE("sentencepiece: a space is put before the text and behind special tokens", "[text]") {
  const auto t = make();
  CHECK(texts_of(*t, t->encode("Hello World")) == "<s>|▁Hello|▁World");
  CHECK(texts_of(*t, t->encode("<s>Hello</s>World", {.add_special = false, .parse_special = true})) == "<s>|▁Hello|</s>|▁World");
  CHECK(texts_of(*t, t->encode("<s>Hello</s> World", {.add_special = false, .parse_special = true})) == "<s>|▁Hello|</s>|▁|▁World");
  const auto bare = make(false);
  CHECK(texts_of(*bare, bare->encode("<s>Hello</s>World", {.add_special = false, .parse_special = true})) == "<s>|H|e|llo|</s>|W|or|ld");
  CHECK(texts_of(*t, t->encode("")) == "<s>");
}

TEST_CASE("sentencepiece: decoding takes the prefix back, streaming keeps it", "[text]") {
  const auto t = make();
  for (const std::string s : {"Hello World", " Hello", "  Hello", "a", "x\nü", ""}) CHECK(t->decode(t->encode(s)) == s);
  text::StreamDecoder d(t);
  std::string out;
  for (const auto id : t->encode("Hello World")) out += d.push(id);
  CHECK(out == " Hello World");
}

TEST_CASE("sentencepiece: bytes for what is no token, exactly as given", "[text]") {
  const auto t = make();
  CHECK(texts_of(*t, t->encode("ü", {.add_special = false})) == "▁|<0xC3>|<0xBC>");
  CHECK(texts_of(*t, t->encode("\xFF" "a", {.add_special = false})) == "▁|<0xFF>|a");
  const auto e = t->encode_with_offsets("Hello ü");
  CHECK(e.offsets == std::vector<text::Span>{{0, 0}, {0, 5}, {5, 6}, {6, 7}, {7, 8}});
}

TEST_CASE("sentencepiece: without byte tokens the unknown token stands in", "[text]") {
  test::VocabBuilder v;
  v.add("<unk>", Type::unknown);
  v.add("<s>", Type::control);
  v.add("</s>", Type::control);
  v.add("a");
  const auto t = text::Tokenizer::from_gguf(v.metadata("llama"));
  CHECK(t->encode("aü", {.add_special = false}) == std::vector<text::TokenId>{0, 3, 0});
  CHECK_NOTHROW(t->encode("h\u00fc\u20ac\xFF"));
}

TEST_CASE("sentencepiece: merging never makes a control token", "[text]") {
  test::VocabBuilder v = vocab();
  const auto t = text::Tokenizer::from_gguf(v.metadata("llama"));
  // "<s" and ">" are tokens, their union is the control token <s>.
  CHECK(texts_of(*t, t->encode("a<s>", {.add_special = false})) == "▁|a|<s|>");
  CHECK(t->decode(t->encode("a<s>")) == "a<s>");
}

TEST_CASE("sentencepiece: an unused token only serves to reach longer ones", "[text]") {
  test::VocabBuilder v;
  v.add("<unk>", Type::unknown);
  v.add("<s>", Type::control);
  v.add("</s>", Type::control);
  for (const char* c : {"▁", "a", "b", "c"}) v.add(c, Type::normal, -9);
  v.add("ab", Type::unused, -1);
  v.add("abc", Type::normal, -2);
  io::Metadata m = v.metadata("llama");
  test::set_bool(m, "tokenizer.ggml.add_space_prefix", false);
  const auto t = text::Tokenizer::from_gguf(m);
  CHECK(texts_of(*t, t->encode("abcab", {.add_special = false})) == "abc|a|b");
}

TEST_CASE("sentencepiece: words can be merged apart unless a token spans them", "[text]") {
  test::VocabBuilder v;
  v.add("<unk>", Type::unknown);
  v.add("<s>", Type::control);
  v.add("</s>", Type::control);
  for (const char* c : {"▁", "a", "b"}) v.add(c, Type::normal, -9);
  v.add("▁b", Type::normal, -1);
  v.add("a▁b", Type::normal, -2);
  v.add("aa", Type::normal, -3);
  const auto spanning = text::Tokenizer::from_gguf(v.metadata("llama"));
  CHECK(texts_of(*spanning, spanning->encode("aa b", {.add_special = false})) == "▁|a|a▁b");
  const auto t = make();
  CHECK(texts_of(*t, t->encode("Hello  World a", {.add_special = false})) == "▁Hello|▁|▁World|▁|a");
}

TEST_CASE("sentencepiece: defaults of absent keys, and scores must be there", "[text]") {
  const auto t = make();
  CHECK(t->bos() == 1);
  CHECK(t->eos() == 2);
  CHECK(t->unk() == 0);
  CHECK(t->add_bos());
  CHECK_FALSE(t->add_eos());
  CHECK(t->is_end_of_turn(2));
  io::Metadata m = vocab().metadata("gpt2", "gpt-2");  // without scores
  test::set_string(m, "tokenizer.ggml.model", "llama");
  try {
    text::Tokenizer::from_gguf(m);
    FAIL("accepted");
  } catch (const Error& e) {
    CHECK(std::string(e.what()).find("tokenizer.ggml.scores") != std::string::npos);
  }
}

TEST_CASE("sentencepiece: long runs take n log n time", "[text]") {
  const auto t = make();
  for (const std::string& s :
       {std::string(test::long_run(1'000'000), 'a'), std::string(test::long_run(200'000), ' '),
        std::string(test::long_run(200'000), '\n'), std::string(test::long_run(300'000), 'x')}) {
    std::vector<text::TokenId> ids;
    CHECK(test::cpu_seconds([&] { ids = t->encode(s); }) < 2);
    CHECK(t->decode(ids) == s);
  }
}

TEST_CASE("sentencepiece: Phi 3 swallows white space behind its control tokens", "[text]") {
  test::VocabBuilder v = vocab();
  v.add("<|end|>", Type::control);
  io::Metadata m = v.metadata("llama");
  test::set_string(m, "general.name", "Phi 3.5 Mini");
  const auto t = text::Tokenizer::from_gguf(m);
  const auto e = t->encode_with_offsets("a<|end|>\n Hello", {.add_special = false, .parse_special = true});
  CHECK(texts_of(*t, e.ids) == "▁|a|<|end|>|▁Hello");
  CHECK(e.offsets[2] == text::Span{1, 10});
}
