// SPDX-License-Identifier: Apache-2.0
// TokenTable and TokenTrie.
#include "hanzo/engine/token_table.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "hanzo/core/error.hpp"
#include "hanzo/text/tokenizer.hpp"
#include "src/engine/token_trie.hpp"

namespace hz {

std::shared_ptr<const TokenTable> TokenTable::from(const text::Tokenizer& tokenizer) {
  std::vector<std::string_view> pieces(static_cast<std::size_t>(tokenizer.size()));
  for (std::int32_t id = 0; id < tokenizer.size(); ++id) {
    const text::TokenType type = tokenizer.type(id);
    const bool is_text = type == text::TokenType::normal || type == text::TokenType::user_defined || type == text::TokenType::byte;
    if (is_text && !tokenizer.is_control(id)) pieces[static_cast<std::size_t>(id)] = tokenizer.piece(id);
  }
  return std::make_shared<const TokenTable>(pieces, tokenizer.end_of_turn_ids());
}

TokenTable::TokenTable(std::span<const std::string_view> pieces, std::span<const std::int32_t> end_ids)
    : end_ids_(end_ids.begin(), end_ids.end()) {
  if (pieces.size() > static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max()))
    throw Error(ErrorKind::usage, "a vocabulary has at most 2^31 - 1 tokens", "TokenTable");
  std::sort(end_ids_.begin(), end_ids_.end());
  end_ids_.erase(std::unique(end_ids_.begin(), end_ids_.end()), end_ids_.end());
  if (!end_ids_.empty() && (end_ids_.front() < 0 || static_cast<std::size_t>(end_ids_.back()) >= pieces.size()))
    throw Error(ErrorKind::usage, "an end-of-turn id lies outside the vocabulary of " + std::to_string(pieces.size()), "TokenTable");
  offsets_.reserve(pieces.size() + 1);
  offsets_.push_back(0);
  for (const std::string_view p : pieces) {
    bytes_.append(p);
    offsets_.push_back(bytes_.size());
  }
}
TokenTable::~TokenTable() = default;

bool TokenTable::is_end(std::int32_t id) const { return std::binary_search(end_ids_.begin(), end_ids_.end(), id); }

const engine::TokenTrie& TokenTable::trie() const {
  std::call_once(trie_once_, [this] { trie_ = std::make_unique<const engine::TokenTrie>(*this); });
  return *trie_;
}

namespace engine {

TokenTrie::TokenTrie(const TokenTable& table) : same_(static_cast<std::size_t>(table.size()), -1) {
  std::vector<std::pair<std::string_view, std::int32_t>> sorted;
  for (std::int32_t id = 0; id < table.size(); ++id) {
    const std::string_view p = table.piece(id);
    if (!p.empty() && p.size() <= std::numeric_limits<std::uint16_t>::max() && !table.is_end(id)) sorted.emplace_back(p, id);
  }
  std::sort(sorted.begin(), sorted.end());
  nodes_.push_back({});
  parent_.push_back(0);
  std::vector<std::uint32_t> path{0};  // nodes from the root to the last piece
  const auto close_to = [&](std::size_t depth) {
    for (; path.size() > depth + 1; path.pop_back()) nodes_[path.back()].end = static_cast<std::uint32_t>(nodes_.size());
  };
  std::string_view last;
  for (const auto& [piece, id] : sorted) {
    const auto split = std::mismatch(piece.begin(), piece.end(), last.begin(), last.end()).first;
    close_to(static_cast<std::size_t>(split - piece.begin()));
    for (std::size_t i = path.size() - 1; i < piece.size(); ++i) {
      if (nodes_.size() >= std::numeric_limits<std::uint32_t>::max())
        throw Error(ErrorKind::unsupported, "the vocabulary's texts are over 4 GiB", "TokenTrie");
      path.push_back(static_cast<std::uint32_t>(nodes_.size()));
      parent_.push_back(path[path.size() - 2]);
      nodes_.push_back({0, -1, static_cast<std::uint16_t>(i + 1), static_cast<std::uint8_t>(piece[i]), false});
    }
    Node& node = nodes_[path.back()];
    same_[static_cast<std::size_t>(id)] = node.token;
    node.shared = node.token >= 0;
    node.token = id;
    depth_ = std::max(depth_, piece.size());
    last = piece;
  }
  close_to(0);
  nodes_[0].end = static_cast<std::uint32_t>(nodes_.size());
  for (std::size_t i = 1; i < nodes_.size(); ++i) ++byte_begin_[nodes_[i].byte + 1u];
  for (std::size_t b = 0; b < 256; ++b) byte_begin_[b + 1] += byte_begin_[b];
  by_byte_.resize(nodes_.size() - 1);
  std::array<std::uint32_t, 257> at = byte_begin_;
  for (std::size_t i = 1; i < nodes_.size(); ++i) by_byte_[at[nodes_[i].byte]++] = static_cast<std::uint32_t>(i);
}

}  // namespace engine
}  // namespace hz
