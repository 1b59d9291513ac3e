// SPDX-License-Identifier: Apache-2.0
// TokenTable: what sampling and grammars know of a vocabulary: the bytes of each token, and which end a turn.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace hz {

namespace text {
class Tokenizer;
}
namespace engine {
class TokenTrie;
}

// Immutable; any number of threads may use one.
class TokenTable {
 public:
  // Control, unknown and unused tokens stand for no text: their piece is empty.
  static std::shared_ptr<const TokenTable> from(const text::Tokenizer& tokenizer);

  // pieces[id] is what token id stands for; end_ids are the tokens that end a turn, which are never text.
  // Throws Error(usage) for an end id outside the vocabulary, or more than 2^31 - 1 tokens.
  TokenTable(std::span<const std::string_view> pieces, std::span<const std::int32_t> end_ids);
  ~TokenTable();
  TokenTable(const TokenTable&) = delete;
  TokenTable& operator=(const TokenTable&) = delete;

  std::int32_t size() const { return static_cast<std::int32_t>(offsets_.size()) - 1; }
  // Empty for a token that is no text, and for ids outside the vocabulary (models may have padded rows).
  std::string_view piece(std::int32_t id) const {
    if (id < 0 || id >= size()) return {};
    const auto i = static_cast<std::size_t>(id);
    return std::string_view(bytes_).substr(offsets_[i], offsets_[i + 1] - offsets_[i]);
  }
  bool is_end(std::int32_t id) const;
  std::span<const std::int32_t> end_ids() const { return end_ids_; }  // ascending

  // All pieces by their bytes; made on first use (about 0.1 s for 262,144 tokens).
  const engine::TokenTrie& trie() const;

 private:
  std::string bytes_;
  std::vector<std::size_t> offsets_;
  std::vector<std::int32_t> end_ids_;
  mutable std::once_flag trie_once_;
  mutable std::unique_ptr<const engine::TokenTrie> trie_;
};

}  // namespace hz
