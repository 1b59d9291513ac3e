// SPDX-License-Identifier: Apache-2.0
// Encoder: a row as token ids and labels.
#pragma once
#include "src/train/row.hpp"

namespace hz::train {

class Encoder {
 public:
  Encoder(const TextSide& text, const DataOptions& options);

  // Whole, however long. Throws Error(bad_file) without a place, or what the chat template throws.
  Example encode(const Row& row) const;
  // A text without rows: BOS, all tokens, EOS; all of them learned.
  Example encode_plain(const std::string& text) const;

 private:
  Example encode_text(const std::string& prompt, const std::string& completion) const;
  Example encode_chat(const Row& row) const;
  Example encode_tokens(const Row& row) const;
  // Learns the tokens that lie, wholly or partly, in [begin, end) of the text.
  static void learn(Example& e, const std::vector<text::Span>& offsets, std::size_t begin, std::size_t end);
  // One BOS at most, and none where the tokenizer has none; drops the EOS that the tokenizer put behind the text.
  void trim_special(text::Encoding& e) const;
  void finish(Example& e) const;

  const TextSide& text_;
  const DataOptions& options_;
  std::vector<std::string> turn_ends_;
  Json variables_ = Json::object();
};

}  // namespace hz::train
