// SPDX-License-Identifier: Apache-2.0
// LocalDfa: the automaton seen from some nodes with an unknown stack below, made deterministic as far as it is used.
#pragma once
#include <cstdint>
#include <map>
#include <unordered_map>
#include <vector>

#include "src/engine/grammar/config.hpp"
#include "src/engine/token_trie.hpp"

namespace hz::engine {

// A place in the trie where the rule has ended and its caller, which is not known here, goes on.
using TrieNode = std::uint32_t;

class LocalDfa {
 public:
  static constexpr std::int32_t kDead = -1;

  explicit LocalDfa(const Automaton& automaton) : automaton_(&automaton), stepper_(automaton) {}

  std::int32_t start(const std::vector<NodeId>& nodes);
  std::int32_t next(std::int32_t state, std::uint8_t byte) {
    const std::int32_t to = table_[automaton_->cell(state, byte)];
    return to == kUnknown ? explore(state, byte) : to;
  }
  bool accepts(std::int32_t state) const { return accepts_[static_cast<std::size_t>(state)] != 0; }

  // Walks the part of the trie below `from`: token(id) for each token that the automaton can read whole, leaves(node)
  // for each inner node where it has reached the end of the bottom.
  template <class Token, class Leaves>
  void walk(std::int32_t state, const TokenTrie& trie, TrieNode from, Token&& token, Leaves&& leaves) {
    const auto nodes = trie.nodes();
    const std::uint16_t base = nodes[from].depth;
    if (path_.size() <= trie.depth()) path_.resize(trie.depth() + 1);
    path_[0] = state;
    for (TrieNode i = from + 1; i < nodes[from].end;) {
      const TokenTrie::Node& n = nodes[i];
      const std::size_t depth = static_cast<std::size_t>(n.depth - base);
      const std::int32_t to = next(path_[depth - 1], n.byte);
      if (to == kDead) {
        i = n.end;
        continue;
      }
      path_[depth] = to;
      if (n.token >= 0) each_token(trie, n, token);
      if (n.end > i + 1 && accepts(to)) leaves(i);
      ++i;
    }
  }

  // The same for one node and what is below it, in the state after the node's byte.
  template <class Token, class Leaves>
  void enter(std::int32_t state, const TokenTrie& trie, TrieNode at, Token&& token, Leaves&& leaves) {
    const TokenTrie::Node& n = trie.nodes()[at];
    if (n.token >= 0) each_token(trie, n, token);
    if (n.end == at + 1) return;
    if (accepts(state)) leaves(at);
    walk(state, trie, at, token, leaves);
  }

  std::size_t bytes() const { return table_.size() * sizeof(std::int32_t) + heads_ * sizeof(Head) + stacks_.size() * 16; }

 private:
  template <class Token>
  static void each_token(const TokenTrie& trie, const TokenTrie::Node& n, Token&& token) {
    token(n.token);
    if (n.shared)
      for (std::int32_t id = trie.next_same(n.token); id >= 0; id = trie.next_same(id)) token(id);
  }
  static constexpr std::int32_t kUnknown = -2;
  std::int32_t explore(std::int32_t state, std::uint8_t byte);
  std::int32_t intern(const Config& config);

  const Automaton* automaton_;
  Stepper stepper_;
  StackPool stacks_;
  std::vector<Config> states_;
  std::vector<std::uint8_t> accepts_;  // of each state
  std::vector<std::int32_t> table_, path_;
  std::unordered_multimap<std::uint64_t, std::int32_t> by_hash_;
  std::map<std::vector<NodeId>, std::int32_t> starts_;
  std::vector<Head> scratch_;
  Config config_;
  std::size_t heads_ = 0;
};

}  // namespace hz::engine
