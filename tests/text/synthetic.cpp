// SPDX-License-Identifier: Apache-2.0
// Small vocabularies made for the tests.
#include "tests/text/synthetic.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "hanzo/text/utf8.hpp"
#include "src/text/bpe.hpp"

namespace hz::test {

void VocabBuilder::add_byte_chars() {
  for (unsigned b = 0; b < 256; ++b) {
    std::string text;
    text::append_utf8(text, text::detail::byte_to_char(static_cast<unsigned char>(b)));
    add(text);
  }
}

void VocabBuilder::add_byte_tokens() {
  for (unsigned b = 0; b < 256; ++b) add(fmt::format("<0x{:02X}>", b), Type::byte);
}

void VocabBuilder::merge(const std::string& left, const std::string& right) {
  merges.push_back(left + " " + right);
  if (std::find(texts.begin(), texts.end(), left + right) == texts.end()) add(left + right);
}

io::Metadata VocabBuilder::metadata(const std::string& model, const std::string& pre) const {
  io::Metadata m;
  m.set_source("synthetic.gguf");
  set_string(m, "tokenizer.ggml.model", model);
  if (!pre.empty()) set_string(m, "tokenizer.ggml.pre", pre);
  m.set("tokenizer.ggml.tokens", {io::Array{texts}});
  m.set("tokenizer.ggml.token_type", {io::Array{types}});
  if (model == "llama" || model == "t5" || model == "plamo2") m.set("tokenizer.ggml.scores", {io::Array{scores}});
  if (!merges.empty()) m.set("tokenizer.ggml.merges", {io::Array{merges}});
  return m;
}

void set_string(io::Metadata& m, const std::string& key, std::string value) { m.set(key, {std::move(value)}); }
void set_id(io::Metadata& m, const std::string& key, std::uint32_t id) { m.set(key, {id}); }
void set_bool(io::Metadata& m, const std::string& key, bool value) { m.set(key, {value}); }

VocabBuilder small_bpe() {
  VocabBuilder v;
  v.add("<|im_start|>", VocabBuilder::Type::control);
  v.add("<|im_end|>", VocabBuilder::Type::control);
  v.add("<|endoftext|>", VocabBuilder::Type::control);
  v.add("<tool>", VocabBuilder::Type::user_defined);
  v.add_byte_chars();
  const std::pair<const char*, const char*> rules[] = {{"h", "e"},   {"l", "l"},  {"he", "ll"}, {"hell", "o"}, {"Ġ", "w"},   {"o", "r"},
                                                       {"Ġw", "or"}, {"l", "d"},  {"Ġwor", "ld"}, {"a", "a"},    {"aa", "aa"}, {"Ġ", "Ġ"},
                                                       {"Ċ", "Ċ"},   {"ĠĠ", "ĠĠ"}, {"Ã", "©"},    {"i", "m"},    {"'", "s"}};
  for (const auto& [left, right] : rules) v.merge(left, right);
  return v;
}

std::shared_ptr<const text::Tokenizer> small_bpe_tokenizer(const std::string& pre) {
  io::Metadata m = small_bpe().metadata("gpt2", pre);
  set_id(m, "tokenizer.ggml.eos_token_id", 1);
  set_id(m, "tokenizer.ggml.bos_token_id", 0);
  return text::Tokenizer::from_gguf(m);
}

std::string texts_of(const text::Tokenizer& t, const std::vector<text::TokenId>& ids) {
  std::string out;
  for (const auto id : ids) {
    if (!out.empty()) out += '|';
    out += t.text(id);
  }
  return out;
}

}  // namespace hz::test
