// SPDX-License-Identifier: Apache-2.0
// Long runs of one character: every kind of tokenizer and every pre-tokenizer takes time in proportion to the text.
#include <functional>
#include <set>
#include <stop_token>

#include "hanzo/core/parallel.hpp"
#include "src/text/pretokenizer.hpp"
#include "tests/catch.hpp"
#include "tests/text/synthetic.hpp"

using namespace hz;
using Type = text::TokenType;
using text::Tokenizer;

namespace {

// ASCII letter, blanks, digit, punctuation, two and three bytes, a combining mark, parts of an emoji sequence, no UTF-8.
const std::string kUnits[] = {"a",    " ",           "\n", "\t", "\r\n", "1", "'", "-", "\u00e9", "\u6f22", "\u0301", "\U0001F468\u200D",
                              "\xff", "\xe2\x96\x81"};

constexpr std::size_t kMegabyte = test::long_run(1'000'000);

std::string run_of(const std::string& unit, std::size_t bytes) {
  std::string s;
  while (s.size() < bytes) s += unit;
  return s;
}

std::shared_ptr<const Tokenizer> make(const std::string& kind) {
  test::VocabBuilder v;
  v.add("<unk>", Type::unknown);
  v.add("<s>", Type::control);
  v.add("</s>", Type::control);
  v.add("[SEP]", Type::control);
  const bool bytes = kind == "llama" || kind == "t5" || kind == "plamo2";
  if (bytes) v.add_byte_tokens();
  for (const char* t : {"a", "aa", "aaaa", "1", "11", "-", "--", "\u2581", "\u2581\u2581", "\u2581a", "\u00e9", "\u6f22", "\u6f22\u6f22"})
    v.add(t, Type::normal, -static_cast<float>(v.texts.size()) / 100);
  io::Metadata m = v.metadata(kind);
  test::set_id(m, "tokenizer.ggml.unknown_token_id", 0);
  if (kind == "bert") test::set_id(m, "tokenizer.ggml.cls_token_id", 1);
  if (kind == "bert") test::set_id(m, "tokenizer.ggml.seperator_token_id", 3);
  return Tokenizer::from_gguf(m);
}

void check_seconds(double limit, const std::string& what, const std::string& unit, const std::function<void()>& f) {
  const double seconds = test::cpu_seconds(f);
  INFO(what << ": a run of " << unit << " took " << seconds << " s");
  CHECK(seconds < limit);
}

}  // namespace

TEST_CASE("a megabyte of one character takes less than two seconds with every kind of tokenizer", "[text]") {
  for (const std::string kind : {"llama", "t5", "bert", "rwkv", "plamo2", "gpt2"}) {
    const auto t = kind == "gpt2" ? test::small_bpe_tokenizer() : make(kind);
    for (const std::string& unit : kUnits) {
      const std::string s = run_of(unit, kMegabyte);
      std::vector<text::TokenId> ids;
      check_seconds(2, kind, unit, [&] { ids = t->encode(s); });
      if (kind == "gpt2") CHECK(t->decode(ids) == s);
    }
  }
}

TEST_CASE("a stop ends the encoding of a long text, whatever the kind of tokenizer", "[text]") {
  std::stop_source stop;
  stop.request_stop();
  for (const std::string kind : {"llama", "t5", "bert", "rwkv", "plamo2", "gpt2"}) {
    const auto t = kind == "gpt2" ? test::small_bpe_tokenizer() : make(kind);
    for (const std::string unit : {"a 1-", "aa"}) {
      if (kind == "bert" && unit == "aa") continue;  // one word, which is too long to be looked at
      INFO(kind << " " << unit);
      const std::string s = run_of(unit, 50'000);
      const StopScope scope(stop.get_token());
      try {
        t->encode(s);
        FAIL_CHECK("encoded to the end");
      } catch (const Error& e) {
        CHECK(e.kind() == ErrorKind::cancelled);
      }
    }
  }
}

TEST_CASE("a megabyte of one character takes less than two seconds with a tokenizer.json of every kind", "[text]") {
  for (const char* name : {"gemma", "llama3", "metaspace", "qwen", "unigram", "wordlevel", "wordpiece"}) {
    const auto t = Tokenizer::from_hf(std::string(HZ_TEST_DATA) + "/tokenizers/" + name + ".json");
    for (const std::string& unit : {kUnits[0], kUnits[1], kUnits[2], kUnits[5], kUnits[9], kUnits[10]}) {
      const std::string s = run_of(unit, kMegabyte);
      check_seconds(2, name, unit, [&] { t->encode(s); });
    }
  }
}

TEST_CASE("every pre-tokenizer cuts long runs in linear time", "[text]") {
  std::set<const void*> seen;
  for (const auto name : text::detail::pre_names()) {
    const text::detail::PreSpec& spec = *text::detail::find_pre(name);
    if (!seen.insert(spec.steps.data()).second) continue;
    const text::detail::PreTokenizer pre(spec.steps);
    for (const std::string& unit : kUnits) {
      if (unit == "\xff") continue;  // the splitter gets valid UTF-8 alone
      const std::string s = run_of(unit, kMegabyte / 4);
      text::detail::PreTokenizer::Splitter splitter(pre);
      check_seconds(0.5, std::string(name), unit, [&] { splitter.split(s); });
    }
  }
  CHECK(seen.size() > 20);
}
