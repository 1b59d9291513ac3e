// SPDX-License-Identifier: Apache-2.0
// Automaton: a grammar as a pushdown machine over bytes.
#pragma once
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "src/engine/grammar/tree.hpp"

namespace hz::engine {

using NodeId = std::int32_t;

// Node 0 is the end of any rule.
struct Automaton {
  static constexpr std::int32_t kNoWay = -1, kUnitDone = -2;
  static constexpr NodeId kEnd = 0;

  enum class Kind : std::uint8_t {
    end,      // return to the caller
    bytes,    // one byte: edges [a, b)
    split,    // no byte: targets [a, b)
    call,     // rule a, which returns to node b
    counted,  // loop a
  };
  struct Node {
    Kind kind;
    std::int32_t a, b;
  };
  struct Edge {
    std::uint8_t lo, hi;
    NodeId next;
  };
  // Repeats a unit that is a small deterministic machine of its own and no beginning of which is another unit, such
  // as "one character of a string". The number of units done is part of the position, so that a bound of 10,000
  // costs no more nodes than one of 10, and all counts share their masks.
  struct Loop {
    NodeId next;                      // after the loop
    std::int32_t min, max;            // units; max may be kUnlimited
    std::int32_t unit;                // which of `units`; loops over equal units share it
  };
  struct Unit {
    NodeId start;                     // leads to the end
    std::vector<std::int32_t> table;  // [state][class]: next state, kUnitDone or kNoWay; state 0 is between units
  };
  std::vector<Node> nodes;
  std::vector<Edge> edges;
  std::vector<NodeId> targets;
  std::vector<Loop> loops;
  std::vector<Unit> units;
  std::vector<NodeId> rule_start;                // per rule of the tree; -1: never reached
  NodeId start = kEnd;
  std::array<std::uint8_t, 256> class_of{};      // bytes that no edge tells apart
  int classes = 1;

  const Node& node(NodeId id) const { return nodes[static_cast<std::size_t>(id)]; }
  const Loop& loop(std::int32_t id) const { return loops[static_cast<std::size_t>(id)]; }
  // Index of (state, class of byte) in a table of rows of `classes` entries.
  std::size_t cell(std::int32_t state, std::uint8_t byte) const {
    return static_cast<std::size_t>(state) * static_cast<std::size_t>(classes) + class_of[byte];
  }
  std::int32_t unit_step(std::int32_t unit, std::int32_t state, std::uint8_t byte) const {
    return units[static_cast<std::size_t>(unit)].table[cell(state, byte)];
  }
  std::span<const Edge> edges_of(const Node& n) const {
    return std::span(edges).subspan(static_cast<std::size_t>(n.a), static_cast<std::size_t>(n.b - n.a));
  }
  std::span<const NodeId> targets_of(const Node& n) const {
    return std::span(targets).subspan(static_cast<std::size_t>(n.a), static_cast<std::size_t>(n.b - n.a));
  }
};

// Checks the tree, then compiles what the root reaches. Throws Error(usage).
Automaton compile(const GrammarTree& tree);

}  // namespace hz::engine
