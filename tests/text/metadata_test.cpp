// SPDX-License-Identifier: Apache-2.0
// Tokenizers out of metadata that lack something or contradict themselves.
#include <limits>

#include "hanzo/core/error.hpp"
#include "hanzo/text/tokenizer.hpp"
#include "tests/catch.hpp"
#include "tests/text/synthetic.hpp"

using namespace hz;
using io::Array;
using io::Metadata;
using text::Tokenizer;

namespace {

// The error of loading m, which must name `key`.
ErrorKind kind_of_error(const Metadata& m, std::string_view key) {
  try {
    Tokenizer::from_gguf(m);
  } catch (const Error& e) {
    INFO(e.what());
    CHECK(std::string(e.what()).find(key) != std::string::npos);
    CHECK(e.where() == "synthetic.gguf");
    return e.kind();
  }
  FAIL("no error about " << key);
  return ErrorKind::failed;
}

Metadata bpe() { return test::small_bpe().metadata("gpt2", "smollm"); }

}  // namespace

TEST_CASE("metadata: an unknown or missing pre-tokenizer is refused, never guessed", "[text]") {
  const auto v = test::small_bpe();
  CHECK(kind_of_error(v.metadata("gpt2", "nosuch"), "nosuch") == ErrorKind::unsupported);
  CHECK(kind_of_error(v.metadata("gpt2"), "tokenizer.ggml.pre") == ErrorKind::bad_file);
  CHECK(Tokenizer::from_gguf(v.metadata("gpt2"), "gpt-2")->pre() == "gpt-2");
  CHECK(Tokenizer::from_gguf(v.metadata("gpt2", "nosuch"), "smollm")->pre() == "smollm");
  CHECK_THROWS_AS(Tokenizer::from_gguf(v.metadata("gpt2", "gpt-2"), "nosuch"), Error);
}

TEST_CASE("metadata: an unknown kind of tokenizer is named", "[text]") {
  CHECK(kind_of_error(test::small_bpe().metadata("wordpunct"), "wordpunct") == ErrorKind::unsupported);
  CHECK(kind_of_error(test::small_bpe().metadata("none"), "no tokenizer") == ErrorKind::unsupported);
  Metadata m = bpe();
  m.set("tokenizer.ggml.model", {std::uint32_t{3}});
  CHECK(kind_of_error(m, "tokenizer.ggml.model") == ErrorKind::bad_file);
  Metadata empty;
  empty.set_source("synthetic.gguf");
  CHECK(kind_of_error(empty, "tokenizer.ggml.model") == ErrorKind::bad_file);
}

TEST_CASE("metadata: tokens must be distinct UTF-8 strings of sane length", "[text]") {
  const std::string key = "tokenizer.ggml.tokens";
  const auto with = [&](io::Value value) {
    Metadata m = bpe();
    m.set(key, std::move(value));
    return kind_of_error(m, key);
  };
  CHECK(with({Array{std::vector<std::uint32_t>{1, 2}}}) == ErrorKind::bad_file);
  CHECK(with({std::string("a")}) == ErrorKind::bad_file);
  CHECK(with({Array{std::vector<std::string>{}}}) == ErrorKind::bad_file);
  CHECK(with({Array{std::vector<std::string>{"a", "b", "a"}}}) == ErrorKind::bad_file);
  CHECK(with({Array{std::vector<std::string>{"a", "\xFF"}}}) == ErrorKind::bad_file);
  CHECK(with({Array{std::vector<std::string>{"a", std::string(1 << 20, 'x')}}}) == ErrorKind::bad_file);
}

TEST_CASE("metadata: scores and types must be one per token and sane", "[text]") {
  const std::size_t n = test::small_bpe().texts.size();
  const auto with = [&](const std::string& key, io::Value value) {
    Metadata m = bpe();
    m.set(key, std::move(value));
    return kind_of_error(m, key);
  };
  const std::string scores = "tokenizer.ggml.scores", types = "tokenizer.ggml.token_type";
  CHECK(with(scores, {Array{std::vector<float>(n - 1)}}) == ErrorKind::bad_file);
  CHECK(with(scores, {Array{std::vector<float>(n + 1)}}) == ErrorKind::bad_file);
  CHECK(with(scores, {1.0F}) == ErrorKind::bad_file);
  CHECK(with(scores, {Array{std::vector<float>(n, std::numeric_limits<float>::quiet_NaN())}}) == ErrorKind::bad_file);
  CHECK(with(types, {Array{std::vector<std::int32_t>(n - 1, 1)}}) == ErrorKind::bad_file);
  CHECK(with(types, {Array{std::vector<std::uint8_t>(n, 1)}}) == ErrorKind::bad_file);
  CHECK(with(types, {Array{std::vector<std::int32_t>(n, 999)}}) == ErrorKind::bad_file);
  CHECK(with(types, {Array{std::vector<std::int32_t>(n, -1)}}) == ErrorKind::bad_file);
}

TEST_CASE("metadata: byte tokens must be called <0x00> to <0xFF>", "[text]") {
  for (const char* name : {"<0x-1>", "<0xZZ>", "<0x1>", "a"}) {
    test::VocabBuilder v = test::small_bpe();
    v.add(std::string(name) + (std::string(name) == "a" ? "?" : ""), test::VocabBuilder::Type::byte);
    CHECK(kind_of_error(v.metadata("gpt2", "gpt-2"), "tokenizer.ggml.tokens") == ErrorKind::bad_file);
  }
}

TEST_CASE("metadata: ids of roles must be in the vocabulary", "[text]") {
  const auto with = [&](const std::string& key, io::Value value) {
    Metadata m = bpe();
    m.set(key, std::move(value));
    return kind_of_error(m, key);
  };
  CHECK(with("tokenizer.ggml.eos_token_id", {std::uint32_t{0xFFFFFFFF}}) == ErrorKind::bad_file);
  CHECK(with("tokenizer.ggml.unknown_token_id", {std::uint32_t{1} << 30}) == ErrorKind::bad_file);
  CHECK(with("tokenizer.ggml.bos_token_id", {std::int32_t{-1}}) == ErrorKind::bad_file);
  CHECK(with("tokenizer.ggml.bos_token_id", {std::string("<s>")}) == ErrorKind::bad_file);
  CHECK(with("tokenizer.ggml.add_bos_token", {true}) == ErrorKind::bad_file);  // without a BOS token
}

TEST_CASE("metadata: merges must be rules over known tokens", "[text]") {
  const std::string key = "tokenizer.ggml.merges";
  test::VocabBuilder v = test::small_bpe();
  v.merges.clear();
  CHECK(kind_of_error(v.metadata("gpt2", "gpt-2"), key) == ErrorKind::bad_file);
  Metadata m = bpe();
  m.set(key, {Array{std::vector<std::uint32_t>{1}}});
  CHECK(kind_of_error(m, key) == ErrorKind::bad_file);
  for (const char* rule : {"q z", "", " ", "h", "h ", "zz h"}) {
    m.set(key, {Array{std::vector<std::string>{"h e", rule}}});
    CHECK(kind_of_error(m, key) == ErrorKind::bad_file);
  }
}
