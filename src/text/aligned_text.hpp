// SPDX-License-Identifier: Apache-2.0
// AlignedText: a normalised text that remembers which input bytes each of its bytes came from.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "hanzo/text/tokenizer.hpp"

namespace hz::text::detail {

class AlignedText {
 public:
  // track: keep the alignment; without it spans are empty.
  explicit AlignedText(bool track) : track_(track) {}

  // Appends bytes that stand for input bytes [begin, begin + bytes.size()) one to one.
  void copy(std::string_view bytes, std::size_t begin) {
    text_.append(bytes);
    if (!track_) return;
    for (std::size_t i = 0; i < bytes.size(); ++i) note(begin + i, begin + i + 1);
  }
  // Appends bytes that together stand for input bytes [begin, end).
  void replace(std::string_view bytes, std::size_t begin, std::size_t end) {
    text_.append(bytes);
    if (!track_) return;
    for (std::size_t i = 0; i < bytes.size(); ++i) note(begin, end);
  }

  // Makes the spans, which count in `inner`'s text, count in what `inner` came from.
  void rebase(const AlignedText& inner) {
    for (std::size_t i = 0; i < begin_.size(); ++i) {
      const bool empty = begin_[i] == end_[i];
      const std::uint32_t b = begin_[i] < inner.begin_.size() ? inner.begin_[begin_[i]] : inner.end_.empty() ? 0 : inner.end_.back();
      end_[i] = empty ? b : inner.end_[end_[i] - 1];
      begin_[i] = b;
    }
  }

  const std::string& text() const { return text_; }
  // The input bytes of [begin, end), begin < end, shifted by base.
  Span span(std::size_t begin, std::size_t end, std::uint32_t base) const {
    if (!track_) return {};
    return {base + begin_[begin], base + end_[end - 1]};
  }
  void reserve(std::size_t bytes) {
    text_.reserve(bytes);
    if (track_) begin_.reserve(bytes), end_.reserve(bytes);
  }

 private:
  void note(std::size_t begin, std::size_t end) {
    begin_.push_back(static_cast<std::uint32_t>(begin));
    end_.push_back(static_cast<std::uint32_t>(end));
  }

  std::string text_;
  std::vector<std::uint32_t> begin_, end_;  // per byte of text_
  bool track_;
};

}  // namespace hz::text::detail
