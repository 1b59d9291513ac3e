// SPDX-License-Identifier: Apache-2.0
// Unigram: the cut of a text into tokens with the best sum of scores (Kudo 2018), found by dynamic programming.
#pragma once
#include "src/text/byte_trie.hpp"
#include "src/text/sentencepiece.hpp"

namespace hz::text::detail {

class Unigram : public PieceModel {
 public:
  // byte_fallback: unknown characters become byte tokens where the vocabulary has all 256.
  Unigram(const Vocab& vocab, bool byte_fallback);
  std::unique_ptr<PieceEncoder> start(PieceOutput& out) const override;

 private:
  class Encoder;
  const Vocab& vocab_;
  ByteTrie trie_;
  ByteFallback fallback_;
  std::optional<TokenId> unk_;
  double unknown_score_ = 0;
  bool in_bytes_;
};

}  // namespace hz::text::detail
