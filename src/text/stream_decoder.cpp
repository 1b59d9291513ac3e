// SPDX-License-Identifier: Apache-2.0
// StreamDecoder.
#include "hanzo/text/stream_decoder.hpp"

#include <utility>

#include "hanzo/text/utf8.hpp"

namespace hz::text {

StreamDecoder::StreamDecoder(std::shared_ptr<const Tokenizer> tokenizer, DecodeOptions options)
    : tokenizer_(std::move(tokenizer)), options_(options) {
  options_.clean_up = false;
}

std::string StreamDecoder::push(TokenId id) {
  DecodeOptions options = options_;
  options.keep_prefix_space = options_.keep_prefix_space || started_;
  const std::string piece = tokenizer_->decode({&id, 1}, options);
  started_ = started_ || tokenizer_->shows(id, options_);
  held_ += piece;
  const std::size_t tail = incomplete_utf8_tail(held_);
  std::string out = repair_utf8(std::string_view(held_).substr(0, held_.size() - tail));
  held_.erase(0, held_.size() - tail);
  return out;
}

std::string StreamDecoder::flush() {
  started_ = false;
  return repair_utf8(std::exchange(held_, {}));
}

}  // namespace hz::text
