// SPDX-License-Identifier: Apache-2.0
// WordPiece: the longest token again and again, from the start of each word (BERT).
#pragma once
#include <string>

#include "src/text/byte_trie.hpp"
#include "src/text/pipeline.hpp"

namespace hz::text::detail {

struct WordPieceOptions {
  std::string first = {};          // how the vocabulary marks a token that begins a word
  std::string continuing = {};     // and one inside a word
  std::size_t longest_word = 0;    // characters; a longer one is unknown as a whole. 0: no limit
};

class WordPiece : public PieceModel {
 public:
  WordPiece(const Vocab& vocab, WordPieceOptions options);
  std::unique_ptr<PieceEncoder> start(PieceOutput& out) const override;

 private:
  class Encoder;
  std::int32_t node_behind(std::string_view prefix) const;  // -1: no token begins so

  WordPieceOptions options_;
  ByteTrie trie_;
  std::int32_t first_node_, continuing_node_;
  std::optional<TokenId> unk_;
};

}  // namespace hz::text::detail
