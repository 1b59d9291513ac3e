// SPDX-License-Identifier: Apache-2.0
// ByteTrie: a set of byte strings, each with a number, that finds those which a text continues with.
#pragma once
#include <array>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

namespace hz::text::detail {

// Immutable once built. Nodes lie in breadth-first order, so the children of a node are neighbours, sorted by
// byte; node 0 is the root.
class ByteTrie {
 public:
  ByteTrie() { first_.fill(-1); }
  // Keys must be distinct and not empty; values are >= 0. The key bytes are only read here.
  explicit ByteTrie(std::vector<std::pair<std::string_view, std::int32_t>> entries);

  bool empty() const { return nodes_.size() <= 1; }

  // The node below `node` along byte b, or -1. Start with root().
  std::int32_t root() const { return 0; }
  std::int32_t step(std::int32_t node, unsigned char b) const;
  std::int32_t value(std::int32_t node) const { return nodes_[static_cast<std::size_t>(node)].value; }  // -1: none
  bool begins_key(unsigned char b) const { return first_[b] >= 0; }

  // Calls found(length, value) for every key that text[pos...] begins with, shortest first, until it returns false.
  template <class F>
  void prefixes(std::string_view text, std::size_t pos, F&& found) const {
    if (empty()) return;
    std::int32_t node = 0;
    for (std::size_t i = pos; i < text.size(); ++i) {
      node = step(node, static_cast<unsigned char>(text[i]));
      if (node < 0) return;
      const std::int32_t v = value(node);
      if (v >= 0 && !found(i + 1 - pos, v)) return;
    }
  }

 private:
  struct Node {
    std::int32_t child = 0;      // the first child
    std::uint16_t children = 0;  // how many
    std::int32_t value = -1;
  };
  std::vector<Node> nodes_;
  std::vector<unsigned char> label_;     // the byte that leads to a node
  std::array<std::int32_t, 256> first_;  // the children of the root
};

}  // namespace hz::text::detail
