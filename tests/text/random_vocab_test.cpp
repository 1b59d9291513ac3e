// SPDX-License-Identifier: Apache-2.0
// Random vocabularies of every kind: each is refused with an error, or tokenizes any bytes within its ids.
#include <random>

#include "hanzo/core/error.hpp"
#include "hanzo/text/tokenizer.hpp"
#include "hanzo/text/utf8.hpp"
#include "tests/catch.hpp"
#include "tests/text/charsmap_builder.hpp"
#include "tests/text/synthetic.hpp"

using namespace hz;
using Type = text::TokenType;

namespace {

class Dice {
 public:
  explicit Dice(unsigned seed) : random_(seed) {}
  unsigned below(unsigned n) { return static_cast<unsigned>(random_() % n); }
  bool one_in(unsigned n) { return below(n) == 0; }
  template <class T, std::size_t n>
  T pick(const T (&list)[n]) {
    return list[below(n)];
  }

 private:
  std::mt19937 random_;
};

std::string part(Dice& d) {
  constexpr const char* kParts[] = {"a",   "b", "c",       "▁",  "Ġ",    "Ċ",          "##",     "<", ">", "|",      "\\x4",
                                    "\\n", "é", "e\u0301", "日", "</s>", "<|im_end|>", "<0x41>", " ", "1", "\u200d", "ß"};
  return d.pick(kParts);
}

io::Metadata random_metadata(Dice& d) {
  constexpr const char* kModels[] = {"gpt2", "gpt2", "llama", "t5", "bert", "rwkv", "plamo2", "whitespace", "gemma4"};
  constexpr const char* kPres[] = {"gpt-2", "qwen2", "llama-bpe", "superbpe", "gemma4", "chameleon"};
  const std::string model = d.pick(kModels);
  test::VocabBuilder v;
  if (d.one_in(2)) v.add_byte_tokens();
  if (d.one_in(2)) v.add_byte_chars();
  std::vector<std::string> seen = v.texts;
  for (unsigned n = d.below(60); n > 0; --n) {
    std::string text;
    for (unsigned k = 1 + d.below(4); k > 0; --k) text += part(d);
    if (std::find(seen.begin(), seen.end(), text) != seen.end()) continue;  // duplicates are refused: not here
    seen.push_back(text);
    const unsigned type = d.one_in(3) ? d.below(6) : 1;  // byte tokens only by name
    v.add(text, static_cast<Type>(type), static_cast<float>(d.below(100)) / -7.0F);
  }
  for (unsigned n = d.below(30); n > 0 && v.texts.size() > 1; --n) {
    const std::string a = v.texts[d.below(static_cast<unsigned>(v.texts.size()))],
                      b = v.texts[d.below(static_cast<unsigned>(v.texts.size()))];
    if (a.find(' ') == std::string::npos) v.merge(a, b);
  }
  io::Metadata m = v.metadata(model, d.pick(kPres));
  if (v.merges.empty()) m.set("tokenizer.ggml.merges", {io::Array{std::vector<std::string>{}}});
  const auto size = static_cast<std::uint32_t>(v.texts.size()) + (d.one_in(20) ? 1 : 0);
  for (const char* key : {"bos", "eos", "eot", "unknown", "seperator", "cls"})
    if (size > 0 && d.one_in(2)) test::set_id(m, std::string("tokenizer.ggml.") + key + "_token_id", d.below(size));
  for (const char* key : {"add_bos_token", "add_eos_token", "add_space_prefix", "remove_extra_whitespaces"})
    if (d.one_in(3)) test::set_bool(m, std::string("tokenizer.ggml.") + key, d.one_in(2));
  if (d.one_in(3)) {
    const std::string blob = test::charsmap({{"é", "e"}, {"ß", "ss"}, {"日", ""}});
    m.set("tokenizer.ggml.precompiled_charsmap", {io::Array{std::vector<std::uint8_t>(blob.begin(), blob.end())}});
  }
  if (d.one_in(4)) test::set_string(m, "general.name", "Phi-3");
  return m;
}

}  // namespace

TEST_CASE("random vocabularies are refused or tokenize any bytes", "[text]") {
  int loaded = 0, refused = 0;
  for (unsigned seed = 0; seed < 1500; ++seed) {
    Dice d(seed);
    const io::Metadata m = random_metadata(d);
    std::shared_ptr<const text::Tokenizer> t;
    try {
      t = text::Tokenizer::from_gguf(m);
    } catch (const Error&) {
      ++refused;
      continue;
    }
    ++loaded;
    for (int round = 0; round < 4; ++round) {
      std::string bytes;
      for (unsigned k = d.below(30); k > 0; --k) bytes += d.one_in(6) ? std::string(1, static_cast<char>(d.below(256))) : part(d);
      const text::EncodeOptions options{.add_special = d.one_in(2), .parse_special = d.one_in(2)};
      const auto e = t->encode_with_offsets(bytes, options);
      INFO(seed << ' ' << round);
      REQUIRE(t->encode(bytes, options) == e.ids);
      REQUIRE(e.offsets.size() == e.ids.size());
      std::uint32_t at = 0;
      for (std::size_t i = 0; i < e.ids.size(); ++i) {
        REQUIRE(e.ids[i] >= 0);
        REQUIRE(e.ids[i] < t->size());
        REQUIRE(e.offsets[i].begin <= e.offsets[i].end);
        REQUIRE(e.offsets[i].begin >= at);
        REQUIRE(e.offsets[i].end <= bytes.size());
        if (!options.parse_special && e.offsets[i].begin < e.offsets[i].end)
          REQUIRE((!t->is_control(e.ids[i]) || t->type(e.ids[i]) == Type::unknown || e.ids[i] == t->unk()));
        at = e.offsets[i].begin;
      }
      t->decode(e.ids, {.special = d.one_in(2), .clean_up = d.one_in(2)});
    }
  }
  CHECK(loaded > 500);
  CHECK(refused > 20);
}
