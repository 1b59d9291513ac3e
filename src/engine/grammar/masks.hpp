// SPDX-License-Identifier: Apache-2.0
// GrammarMasks: which tokens may follow a config, for one grammar and one vocabulary.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "src/engine/grammar/local_dfa.hpp"

namespace hz::engine {

// A token's fate is mostly decided inside the rule where it begins, whatever called that rule. So the answer for a
// position ("inside a string") is worked out once, together with the places in the trie where the rule may end in the
// middle of a token; only from those places on the callers on the stack are asked. Shared by threads; one lock.
class GrammarMasks {
 public:
  GrammarMasks(const Automaton& automaton, const TokenTrie& trie);

  // Sets the bits of the tokens whose whole text the heads can read. bits has (vocabulary + 63) / 64 words.
  void mask(std::span<const Head> heads, const StackPool& stacks, std::span<std::uint64_t> bits);

 private:
  using Bits = std::vector<std::uint64_t>;
  // Places inside tokens where a rule (or a unit of a loop) may end: inner nodes of the trie. A few as a list; many
  // ("after any character of a string") as an array over all nodes, to be looked up from the byte that comes next.
  struct Leaves {
    std::vector<std::pair<TrieNode, std::int32_t>> few;  // with the units of a counted loop begun up to there, else 0
    std::vector<std::int16_t> many;                      // the same units per node, -1 for no place
    bool empty() const { return few.empty() && many.empty(); }
    std::size_t bytes() const { return 8 * few.size() + 2 * many.size(); }
  };
  // What follows a set of nodes of one rule, the stack below unknown.
  struct Local {
    Bits dense;                        // either all tokens as bits
    std::vector<std::int32_t> sparse;  // or, if few, as a list
    Leaves leaves;                     // where the rule may end inside a token
    bool ends = false;                 // the rule may end at once
  };
  // The same for a state of a counted unit, tokens by the number of units that they begin.
  struct Counted {
    Bits dense;
    std::vector<std::int32_t> tokens;            // ascending by units
    std::vector<std::size_t> upto;               // tokens[0, upto[k]) begin at most k units
    Leaves leaves;                     // where a unit is done
  };

  // One mask in the making.
  struct Work {
    const StackPool* stacks;
    std::span<std::uint64_t> bits;
    std::vector<std::pair<std::vector<NodeId>, std::int32_t>> groups;  // nodes over one stack, to be looked at
  };
  void add_local(Work& w, const std::vector<NodeId>& nodes, std::int32_t stack);
  void add_counted(Work& w, const Head& head);
  // Goes on inside tokens with the callers: first at `node`, then down the stack as far as rules end. Of the leaves
  // those with min <= units <= max.
  void resume(Work& w, const Leaves& leaves, std::int64_t min, std::int64_t max, NodeId node, std::int32_t stack);
  // enter(state, node) for each child of a leaf that the state after `start` can go on with.
  template <class Enter>
  void each_next(const Leaves& leaves, std::int64_t min, std::int64_t max, std::int32_t start, Enter&& enter);
  Leaves leaves_of(std::vector<std::pair<TrieNode, std::int32_t>> places) const;
  const Local& local(const std::vector<NodeId>& nodes);
  const Counted& counted(std::int32_t unit, std::int32_t state);
  void drop_if_large();

  const Automaton* automaton_;
  const TokenTrie* trie_;
  std::size_t words_;
  std::mutex mutex_;
  std::unique_ptr<LocalDfa> dfa_;
  std::map<std::vector<NodeId>, Local> locals_;
  std::map<std::pair<std::int32_t, std::int32_t>, Counted> counted_;
  std::size_t bytes_ = 0;  // of the two maps
};

}  // namespace hz::engine
