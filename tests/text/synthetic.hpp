// SPDX-License-Identifier: Apache-2.0
// Small vocabularies made for the tests, as GGUF metadata.
#pragma once
#include <time.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hanzo/io/metadata.hpp"
#include "hanzo/text/tokenizer.hpp"
#include "tests/sanitized.hpp"

namespace hz::test {

// Collects tokens, then sets the keys of `tokenizer.ggml.*`.
class VocabBuilder {
 public:
  using Type = text::TokenType;

  text::TokenId add(std::string text, Type type = Type::normal, float score = 0) {
    texts.push_back(std::move(text));
    types.push_back(static_cast<std::int32_t>(type));
    scores.push_back(score);
    return static_cast<text::TokenId>(texts.size()) - 1;
  }
  // The 256 printable stand-ins of byte-level vocabularies, in the order of the bytes.
  void add_byte_chars();
  // <0x00> to <0xFF>.
  void add_byte_tokens();
  // A merge rule and the token that it makes, unless that is there.
  void merge(const std::string& left, const std::string& right);

  io::Metadata metadata(const std::string& model, const std::string& pre = {}) const;

  std::vector<std::string> texts, merges;
  std::vector<std::int32_t> types;
  std::vector<float> scores;
};

void set_string(io::Metadata& m, const std::string& key, std::string value);
void set_id(io::Metadata& m, const std::string& key, std::uint32_t id);
void set_bool(io::Metadata& m, const std::string& key, bool value);

// A byte-level vocabulary with a few English merges. Ids: <|im_start|> 0, <|im_end|> 1 (EOS), <|endoftext|> 2,
// <tool> 3 (user-defined), then the bytes from 4.
VocabBuilder small_bpe();
std::shared_ptr<const text::Tokenizer> small_bpe_tokenizer(const std::string& pre = "smollm");

// Seconds of this thread's own work that f takes, whatever else the machine does; a tenth of them under a
// sanitizer, which slows everything down.
template <class F>
double cpu_seconds(F&& f) {
  const auto now = [] {
    timespec t{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
  };
  const double start = now();
  f();
  return (now() - start) / (kSanitized ? 10 : 1);
}

// The texts of ids, joined by '|'.
std::string texts_of(const text::Tokenizer& t, const std::vector<text::TokenId>& ids);

}  // namespace hz::test
