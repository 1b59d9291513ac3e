// SPDX-License-Identifier: Apache-2.0
// Config: where in the automaton a text may be: a set of heads, each with a stack of returns.
#pragma once
#include <compare>
#include <cstdint>
#include <vector>

#include "src/engine/grammar/automaton.hpp"

namespace hz::engine {

// Stacks as linked frames, each made once: equal stacks have equal ids. 0 is the bottom.
class StackPool {
 public:
  std::int32_t push(NodeId ret, std::int32_t below);
  NodeId ret(std::int32_t stack) const { return frames_[static_cast<std::size_t>(stack)].ret; }
  std::int32_t below(std::int32_t stack) const { return frames_[static_cast<std::size_t>(stack)].below; }
  std::size_t size() const { return frames_.size(); }

 private:
  struct Frame {
    NodeId ret;
    std::int32_t below;
  };
  void grow();
  std::vector<Frame> frames_{{-1, -1}};
  std::vector<std::int32_t> slots_;  // open addressing, -1 free
};

struct Head {
  NodeId node = Automaton::kEnd;
  std::int32_t stack = 0;
  std::int32_t unit = 0, count = 0;  // at a counted node: state inside the unit, units done
  friend auto operator<=>(const Head&, const Head&) = default;
};

// Closed: heads only at bytes and counted nodes, ascending. `accept`: the end of the bottom is reached.
struct Config {
  std::vector<Head> heads;
  bool accept = false;
};

// Follows what takes no byte, and steps over bytes. Holds scratch memory.
class Stepper {
 public:
  explicit Stepper(const Automaton& automaton) : automaton_(&automaton) {}
  // Throws Error(unsupported) when the grammar is so ambiguous that over 10,000 heads are alive.
  void close(const std::vector<Head>& from, StackPool& stacks, Config& out);
  void step(const Config& from, std::uint8_t byte, std::vector<Head>& out) const;

 private:
  bool insert(const Head& head);
  const Automaton* automaton_;
  std::vector<Head> todo_, table_;
  std::vector<std::uint32_t> stamps_;  // table_[i] holds a head of the current round if stamps_[i] == round_
  std::uint32_t round_ = 0;
  std::size_t used_ = 0;
};

}  // namespace hz::engine
