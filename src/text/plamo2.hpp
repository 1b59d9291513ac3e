// SPDX-License-Identifier: Apache-2.0
// Plamo2: the cut with the least cost in whole ten-thousandths, found from the end (PLaMo 2's tokenizer).
#pragma once
#include "src/text/byte_trie.hpp"
#include "src/text/sentencepiece.hpp"

namespace hz::text::detail {

class Plamo2 : public PieceModel {
 public:
  // The vocabulary has all byte tokens.
  explicit Plamo2(const Vocab& vocab);
  std::unique_ptr<PieceEncoder> start(PieceOutput& out) const override;

 private:
  class Encoder;
  ByteTrie trie_;
  std::vector<std::int64_t> scores_;  // per token
  ByteFallback fallback_;
};

}  // namespace hz::text::detail
