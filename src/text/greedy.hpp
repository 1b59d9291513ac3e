// SPDX-License-Identifier: Apache-2.0
// Greedy: always the longest token that the rest of the bytes begins with (RWKV's World tokenizer).
#pragma once
#include <optional>
#include <string>

#include "src/text/byte_trie.hpp"
#include "src/text/pipeline.hpp"

namespace hz::text::detail {

// The bytes that an RWKV token stands for; its text is escaped as Python writes bytes. nullopt: a broken escape.
std::optional<std::string> unescape_rwkv(std::string_view text);

class Greedy : public PieceModel {
 public:
  // Matches the pieces of the tokens.
  explicit Greedy(const Vocab& vocab);
  std::unique_ptr<PieceEncoder> start(PieceOutput& out) const override;

 private:
  class Encoder;
  ByteTrie trie_;
  std::optional<TokenId> unk_;
};

}  // namespace hz::text::detail
