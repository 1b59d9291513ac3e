// SPDX-License-Identifier: Apache-2.0
// Stacks, closures and steps.
#include "src/engine/grammar/config.hpp"

#include <algorithm>
#include <string>

#include "hanzo/core/error.hpp"

namespace hz::engine {
namespace {

constexpr std::size_t kMostHeads = 10'000, kMostVisits = 2'000'000;
constexpr std::size_t kMostFrames = 50'000'000;

std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
  std::uint64_t h = (a ^ (b * 0x9E3779B97F4A7C15ull)) * 0xC2B2AE3D27D4EB4Full;
  return h ^ (h >> 29);
}
std::uint64_t pair_of(std::int32_t a, std::int32_t b) {
  return (static_cast<std::uint64_t>(static_cast<std::uint32_t>(a)) << 32) | static_cast<std::uint32_t>(b);
}

}  // namespace

void StackPool::grow() {
  slots_.assign(std::max<std::size_t>(32, 2 * slots_.size()), -1);
  const std::size_t mask = slots_.size() - 1;
  for (std::size_t i = 1; i < frames_.size(); ++i) {
    std::size_t at = mix(pair_of(frames_[i].ret, frames_[i].below), 1) & mask;
    while (slots_[at] >= 0) at = (at + 1) & mask;
    slots_[at] = static_cast<std::int32_t>(i);
  }
}

std::int32_t StackPool::push(NodeId ret, std::int32_t below) {
  if (2 * (frames_.size() + 1) > slots_.size()) grow();
  const std::size_t mask = slots_.size() - 1;
  std::size_t at = mix(pair_of(ret, below), 1) & mask;
  for (; slots_[at] >= 0; at = (at + 1) & mask) {
    const Frame& f = frames_[static_cast<std::size_t>(slots_[at])];
    if (f.ret == ret && f.below == below) return slots_[at];
  }
  if (frames_.size() >= kMostFrames) throw Error(ErrorKind::unsupported, "the text is nested too deep for the grammar's stack", "grammar");
  slots_[at] = static_cast<std::int32_t>(frames_.size());
  frames_.push_back({ret, below});
  return slots_[at];
}

bool Stepper::insert(const Head& head) {
  if (2 * (used_ + 1) > table_.size()) {
    std::vector<Head> old;
    for (std::size_t i = 0; i < table_.size(); ++i)
      if (stamps_[i] == round_) old.push_back(table_[i]);
    table_.assign(std::max<std::size_t>(64, 2 * table_.size()), Head{});
    stamps_.assign(table_.size(), round_ - 1);
    used_ = 0;
    for (const Head& h : old) insert(h);
  }
  const std::size_t mask = table_.size() - 1;
  std::size_t at = mix(pair_of(head.node, head.stack), pair_of(head.unit, head.count)) & mask;
  for (; stamps_[at] == round_; at = (at + 1) & mask)
    if (table_[at] == head) return false;
  stamps_[at] = round_;
  table_[at] = head;
  ++used_;
  return true;
}

void Stepper::close(const std::vector<Head>& from, StackPool& stacks, Config& out) {
  out.heads.clear();
  out.accept = false;
  used_ = 0;
  if (++round_ == 0) {  // the stamps of 2^32 rounds ago are stale
    std::fill(stamps_.begin(), stamps_.end(), 0u);
    round_ = 1;
  }
  todo_.clear();
  const auto visit = [&](const Head& h) {
    if (insert(h)) todo_.push_back(h);
    if (out.heads.size() > kMostHeads || used_ > kMostVisits)
      throw Error(ErrorKind::unsupported, "the grammar is too ambiguous: over 10,000 readings of the text at once", "grammar",
                  "write it so that the next characters decide between alternatives");
  };
  for (const Head& h : from) visit(h);
  while (!todo_.empty()) {
    const Head h = todo_.back();
    todo_.pop_back();
    const Automaton::Node& n = automaton_->node(h.node);
    switch (n.kind) {
      case Automaton::Kind::bytes: out.heads.push_back(h); break;
      case Automaton::Kind::split:
        for (const NodeId t : automaton_->targets_of(n)) visit({t, h.stack});
        break;
      case Automaton::Kind::call:
        // A call at the end of a rule needs no return: lists by right recursion keep a flat stack.
        visit({automaton_->rule_start[static_cast<std::size_t>(n.a)], n.b == Automaton::kEnd ? h.stack : stacks.push(n.b, h.stack)});
        break;
      case Automaton::Kind::end:
        if (h.stack == 0) out.accept = true;
        else visit({stacks.ret(h.stack), stacks.below(h.stack)});
        break;
      case Automaton::Kind::counted: {
        const Automaton::Loop& loop = automaton_->loop(n.a);
        if (h.unit == 0 && h.count >= loop.min) visit({loop.next, h.stack});
        if (h.unit != 0 || loop.max == kUnlimited || h.count < loop.max) out.heads.push_back(h);
        break;
      }
    }
  }
  std::sort(out.heads.begin(), out.heads.end());
}

void Stepper::step(const Config& from, std::uint8_t byte, std::vector<Head>& out) const {
  out.clear();
  for (const Head& h : from.heads) {
    const Automaton::Node& n = automaton_->node(h.node);
    if (n.kind == Automaton::Kind::bytes) {
      for (const Automaton::Edge& e : automaton_->edges_of(n))
        if (byte >= e.lo && byte <= e.hi) out.push_back({e.next, h.stack});
      continue;
    }
    const Automaton::Loop& loop = automaton_->loop(n.a);
    const std::int32_t to = automaton_->unit_step(loop.unit, h.unit, byte);
    if (to == Automaton::kNoWay) continue;
    if (to != Automaton::kUnitDone) {
      out.push_back({h.node, h.stack, to, h.count});
    } else {
      const bool saturated = loop.max == kUnlimited && h.count >= loop.min;  // further counts make no difference
      out.push_back({h.node, h.stack, 0, saturated ? h.count : h.count + 1});
    }
  }
}

}  // namespace hz::engine
