// SPDX-License-Identifier: Apache-2.0
// Algorithm: what the kinds of tokenizers have in common inside the library.
#pragma once
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "hanzo/io/sha256.hpp"
#include "src/text/vocab.hpp"

namespace hz::text::detail {

// Where tokens go. Spans count in the whole input; none are kept when they are not wanted.
class Output {
 public:
  Output(std::vector<TokenId>& ids, std::vector<Span>* spans) : ids_(ids), spans_(spans) {}
  bool wants_spans() const { return spans_ != nullptr; }
  void put(TokenId id, Span span) {
    ids_.push_back(id);
    if (spans_) spans_->push_back(span);
  }
  std::size_t size() const { return ids_.size(); }
  void shrink(std::size_t size) {
    ids_.resize(size);
    if (spans_) spans_->resize(size);
  }

 private:
  std::vector<TokenId>& ids_;
  std::vector<Span>* spans_;
};

// A stretch of input without special tokens.
struct Fragment {
  std::string_view text;        // any bytes; not empty
  std::uint32_t begin = 0;      // of the input
  bool first = true;            // nothing stands before it, not even a special token
  bool after_special = true;    // first, or directly behind a special token
};

class Algorithm {
 public:
  virtual ~Algorithm() = default;
  virtual void encode(const Fragment& fragment, Output& out) const = 0;
  // Adds what the vocabulary does not show, such as merge rules.
  virtual void hash(io::Sha256& sha) const = 0;
};

}  // namespace hz::text::detail
