// SPDX-License-Identifier: Apache-2.0
// TokenTrie: all pieces of a vocabulary by their bytes, as a flat array in preorder.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "hanzo/engine/token_table.hpp"

namespace hz::engine {

class TokenTrie {
 public:
  // Node 0 is the root, of no byte. The nodes below node i are i + 1 up to `end`, children after their parents.
  struct Node {
    std::uint32_t end = 0;
    std::int32_t token = -1;   // whose piece ends here; further ones by next_same()
    std::uint16_t depth = 0;   // bytes from the root
    std::uint8_t byte = 0;
  };

  // Leaves out tokens that end a turn, are no text, or are longer than 65,535 bytes: no grammar allows those.
  explicit TokenTrie(const TokenTable& table);

  std::span<const Node> nodes() const { return nodes_; }
  std::int32_t next_same(std::int32_t token) const { return same_[static_cast<std::size_t>(token)]; }  // -1: none
  std::size_t depth() const { return depth_; }  // of the longest piece, bytes
  std::int32_t vocab_size() const { return static_cast<std::int32_t>(same_.size()); }

 private:
  std::vector<Node> nodes_;
  std::vector<std::int32_t> same_;
  std::size_t depth_ = 0;
};

}  // namespace hz::engine
