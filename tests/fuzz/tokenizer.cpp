// SPDX-License-Identifier: Apache-2.0
// Tokenizers: built from a tokenizer.json, or a small one of each kind from GGUF keys, then fed any text. The first
// byte chooses; a tokenizer.json ends at the first NUL, the text follows.
#include "hanzo/text/stream_decoder.hpp"
#include "hanzo/text/tokenizer.hpp"
#include "hanzo/text/utf8.hpp"
#include "tests/fuzz/fuzz.hpp"
#include "tests/text/synthetic.hpp"

using namespace hz;
using namespace hz::fuzz;
using text::Tokenizer;

namespace {

std::shared_ptr<const Tokenizer> small(const char* model, const char* pre) {
  test::VocabBuilder v;
  v.add("<unk>", text::TokenType::unknown);
  v.add("<s>", text::TokenType::control);
  v.add("</s>", text::TokenType::control);
  if (std::string_view(model) == "gpt2") v = test::small_bpe();
  else if (std::string_view(model) == "llama") v.add_byte_tokens();
  float score = -1;
  for (const char* piece : {"\u2581", "\u2581a", "a", "b", "ab", "abc", "##a", "##b", "he", "llo", "\u00e9", "\u4e2d", "\U0001f600"})
    v.add(piece, text::TokenType::normal, score -= 1);
  io::Metadata m = v.metadata(model, pre);
  test::set_id(m, "tokenizer.ggml.bos_token_id", 1);
  test::set_id(m, "tokenizer.ggml.eos_token_id", 2);
  test::set_id(m, "tokenizer.ggml.unknown_token_id", 0);
  return Tokenizer::from_gguf(m);
}

const std::vector<std::shared_ptr<const Tokenizer>>& small_ones() {
  static const std::vector<std::shared_ptr<const Tokenizer>> list = [] {
    std::vector<std::shared_ptr<const Tokenizer>> made;
    for (const std::string_view pre : Tokenizer::pre_names()) guarded([&] { made.push_back(small("gpt2", std::string(pre).c_str())); });
    for (const char* model : {"llama", "t5", "bert"}) guarded([&] { made.push_back(small(model, "")); });
    return made;
  }();
  return list;
}

void use(const std::shared_ptr<const Tokenizer>& t, std::string_view text) {
  for (const bool special : {false, true}) {
    const text::Encoding e = t->encode_with_offsets(text, {.add_special = special, .parse_special = special});
    require(e.ids.size() == e.offsets.size());
    text::StreamDecoder stream(t);
    std::string streamed;
    for (const auto id : e.ids) {
      require(id >= 0 && id < t->size());
      streamed += stream.push(id);
    }
    streamed += stream.flush();
    require(text::is_valid_utf8(streamed));
    static_cast<void>(t->decode(e.ids));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return guarded([&] {
    Input in(data, size);
    const std::size_t kind = in.byte();
    if (kind < small_ones().size()) return use(small_ones()[kind], in.rest());
    const std::string json(in.line());
    use(Tokenizer::from_hf_json(json), in.rest());
  });
}
