// SPDX-License-Identifier: Apache-2.0
// StreamDecoder: token ids, one at a time, to text in whole characters.
#pragma once
#include <memory>
#include <string>

#include "hanzo/text/tokenizer.hpp"

namespace hz::text {

// What push and flush return, joined, is repair_utf8 of the decoded bytes: always valid UTF-8, no character ever
// cut. For one stream of ids; not for several threads.
class StreamDecoder {
 public:
  // options.clean_up is ignored: it would need the text that follows.
  explicit StreamDecoder(std::shared_ptr<const Tokenizer> tokenizer, DecodeOptions options = {.keep_prefix_space = true});

  // The characters that this token completes; often empty inside a character. An id outside the vocabulary is
  // Error(usage).
  std::string push(TokenId id);

  // The end of the stream: U+FFFD for an incomplete rest, else nothing. The decoder is then as new.
  std::string flush();

  // Bytes held back, 0 to 3.
  std::size_t pending() const { return held_.size(); }

 private:
  std::shared_ptr<const Tokenizer> tokenizer_;
  DecodeOptions options_;
  std::string held_;     // the start of a character
  bool started_ = false;  // a token has given text
};

}  // namespace hz::text
