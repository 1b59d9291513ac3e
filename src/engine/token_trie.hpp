// SPDX-License-Identifier: Apache-2.0
// TokenTrie: all pieces of a vocabulary by their bytes, as a flat array in preorder.
#pragma once
#include <array>
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
    bool shared = false;       // further tokens have the same text
  };

  // Leaves out tokens that end a turn, are no text, or are longer than 65,535 bytes: no grammar allows those.
  explicit TokenTrie(const TokenTable& table);

  std::span<const Node> nodes() const { return nodes_; }
  std::int32_t next_same(std::int32_t token) const { return same_[static_cast<std::size_t>(token)]; }  // -1: none
  std::uint32_t parent(std::uint32_t node) const { return parent_[node]; }
  // The nodes that a byte leads to, ascending.
  std::span<const std::uint32_t> nodes_of_byte(std::uint8_t byte) const {
    return std::span(by_byte_).subspan(byte_begin_[byte], byte_begin_[byte + 1u] - byte_begin_[byte]);
  }
  std::size_t depth() const { return depth_; }  // of the longest piece, bytes
  std::int32_t vocab_size() const { return static_cast<std::int32_t>(same_.size()); }

 private:
  std::vector<Node> nodes_;
  std::vector<std::int32_t> same_;
  std::vector<std::uint32_t> parent_, by_byte_;
  std::array<std::uint32_t, 257> byte_begin_{};
  std::size_t depth_ = 0;
};

}  // namespace hz::engine
