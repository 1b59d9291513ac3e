// SPDX-License-Identifier: Apache-2.0
// GrammarMasks.
#include "src/engine/grammar/masks.hpp"

#include <algorithm>
#include <bit>
#include <limits>

namespace hz::engine {
namespace {

constexpr std::size_t kMostBytes = std::size_t{64} << 20;  // then the caches start afresh

void set_bit(std::span<std::uint64_t> bits, std::int32_t id) { bits[static_cast<std::size_t>(id) / 64] |= std::uint64_t{1} << (id % 64); }
void clear_bit(std::span<std::uint64_t> bits, std::int32_t id) {
  bits[static_cast<std::size_t>(id) / 64] &= ~(std::uint64_t{1} << (id % 64));
}

}  // namespace

GrammarMasks::GrammarMasks(const Automaton& automaton, const TokenTrie& trie)
    : automaton_(&automaton),
      trie_(&trie),
      words_((static_cast<std::size_t>(trie.vocab_size()) + 63) / 64),
      dfa_(std::make_unique<LocalDfa>(automaton)) {}

void GrammarMasks::drop_if_large() {
  if (bytes_ + dfa_->bytes() < kMostBytes) return;
  locals_.clear();
  counted_.clear();
  bytes_ = 0;
  dfa_ = std::make_unique<LocalDfa>(*automaton_);
}

const GrammarMasks::Local& GrammarMasks::local(const std::vector<NodeId>& nodes) {
  const auto [at, added] = locals_.try_emplace(nodes);
  Local& l = at->second;
  if (!added) return l;
  try {
    const std::int32_t start = dfa_->start(nodes);
    l.ends = dfa_->accepts(start);
    std::vector<std::pair<TrieNode, std::int32_t>> places;
    l.dense.assign(words_, 0);
    dfa_->walk(start, *trie_, 0, [&](std::int32_t id) { set_bit(l.dense, id); }, [&](TrieNode n) { places.emplace_back(n, 0); });
    l.leaves = leaves_of(std::move(places));
  } catch (...) {
    locals_.erase(at);  // half an answer must not stay
    throw;
  }
  std::size_t count = 0;
  for (const std::uint64_t word : l.dense) count += static_cast<std::size_t>(std::popcount(word));
  if (count < 2 * words_) {  // a list is smaller
    l.sparse.reserve(count);
    for (std::size_t i = 0; i < words_; ++i)
      for (std::uint64_t word = l.dense[i]; word != 0; word &= word - 1)
        l.sparse.push_back(static_cast<std::int32_t>(64 * i) + std::countr_zero(word));
    l.dense = {};
  }
  bytes_ += 8 * l.dense.size() + 4 * l.sparse.size() + l.leaves.bytes() + 128;
  return l;
}

const GrammarMasks::Counted& GrammarMasks::counted(std::int32_t unit, std::int32_t state) {
  const auto [at, added] = counted_.try_emplace({unit, state});
  Counted& c = at->second;
  if (!added) return c;
  struct Place {
    std::int32_t state, begun;
  };
  const auto nodes = trie_->nodes();
  std::vector<Place> path(trie_->depth() + 1);
  std::vector<std::pair<std::int32_t, std::int32_t>> found;  // units begun, token
  std::vector<std::pair<TrieNode, std::int32_t>> places;
  path[0] = {state, 0};
  for (TrieNode i = 1; i < nodes[0].end;) {
    const TokenTrie::Node& n = nodes[i];
    const Place from = path[n.depth - 1u];
    const std::int32_t to = automaton_->unit_step(unit, from.state, n.byte);
    if (to == Automaton::kNoWay) {
      i = n.end;
      continue;
    }
    const std::int32_t begun = from.begun + (from.state == 0 ? 1 : 0);
    path[n.depth] = {to == Automaton::kUnitDone ? 0 : to, begun};
    if (n.token >= 0)
      for (std::int32_t id = n.token; id >= 0; id = n.shared ? trie_->next_same(id) : -1) found.emplace_back(begun, id);
    if (to == Automaton::kUnitDone && n.end > i + 1) places.emplace_back(i, begun);
    ++i;
  }
  c.leaves = leaves_of(std::move(places));
  std::int32_t most = 0;
  for (const auto& [begun, id] : found) most = std::max(most, begun);
  c.upto.assign(static_cast<std::size_t>(most) + 1, 0);  // counting sort
  for (const auto& [begun, id] : found) ++c.upto[static_cast<std::size_t>(begun)];
  for (std::size_t k = 1; k < c.upto.size(); ++k) c.upto[k] += c.upto[k - 1];
  std::vector<std::size_t> at_units(c.upto.size(), 0);
  for (std::size_t k = 1; k < c.upto.size(); ++k) at_units[k] = c.upto[k - 1];
  c.tokens.resize(found.size());
  c.dense.assign(words_, 0);
  for (const auto& [begun, id] : found) {
    c.tokens[at_units[static_cast<std::size_t>(begun)]++] = id;
    set_bit(c.dense, id);
  }
  bytes_ += 8 * (c.dense.size() + c.upto.size()) + 4 * c.tokens.size() + c.leaves.bytes() + 128;
  return c;
}

void GrammarMasks::mask(std::span<const Head> heads, const StackPool& stacks, std::span<std::uint64_t> bits) {
  const std::lock_guard lock(mutex_);
  drop_if_large();
  Work w{&stacks, bits, {}};
  std::vector<Head> plain, loops;
  for (const Head& h : heads) (automaton_->node(h.node).kind == Automaton::Kind::counted ? loops : plain).push_back(h);
  std::sort(plain.begin(), plain.end(),
            [](const Head& a, const Head& b) { return a.stack != b.stack ? a.stack < b.stack : a.node < b.node; });
  for (const Head& h : plain) {
    if (w.groups.empty() || w.groups.back().second != h.stack) w.groups.emplace_back(std::vector<NodeId>{}, h.stack);
    auto& nodes = w.groups.back().first;
    if (nodes.empty() || nodes.back() != h.node) nodes.push_back(h.node);
  }
  for (const Head& h : loops) add_counted(w, h);
  for (std::size_t i = 0; i < w.groups.size(); ++i) {  // grows as rules end
    const auto group = w.groups[i];
    add_local(w, group.first, group.second);
  }
}

void GrammarMasks::add_local(Work& w, const std::vector<NodeId>& nodes, std::int32_t stack) {
  const Local& l = local(nodes);
  for (std::size_t i = 0; i < l.dense.size(); ++i) w.bits[i] |= l.dense[i];
  for (const std::int32_t id : l.sparse) set_bit(w.bits, id);
  if (stack == 0) return;
  const std::pair<std::vector<NodeId>, std::int32_t> caller{{w.stacks->ret(stack)}, w.stacks->below(stack)};
  if (l.ends && std::find(w.groups.begin(), w.groups.end(), caller) == w.groups.end()) w.groups.push_back(caller);
  resume(w, l.leaves, 0, 0, caller.first[0], caller.second);
}

void GrammarMasks::add_counted(Work& w, const Head& head) {
  const Automaton::Loop& loop = automaton_->loop(automaton_->node(head.node).a);
  const Counted& c = counted(loop.unit, head.unit);
  const std::int32_t begun = head.count + (head.unit != 0 ? 1 : 0);  // a unit in progress is one of them
  const auto left = loop.max == kUnlimited ? std::numeric_limits<std::size_t>::max() : static_cast<std::size_t>(loop.max - begun);
  const std::size_t allowed = left < c.upto.size() ? c.upto[left] : c.tokens.size();
  if (allowed * 2 >= c.tokens.size()) {
    Bits bits = c.dense;
    for (std::size_t i = allowed; i < c.tokens.size(); ++i) clear_bit(bits, c.tokens[i]);
    for (std::size_t i = 0; i < bits.size(); ++i) w.bits[i] |= bits[i];
  } else {
    for (std::size_t i = 0; i < allowed; ++i) set_bit(w.bits, c.tokens[i]);
  }
  if (head.unit == 0 && head.count >= loop.min) w.groups.emplace_back(std::vector<NodeId>{loop.next}, head.stack);
  resume(w, c.leaves, static_cast<std::int64_t>(loop.min) - begun,
         loop.max == kUnlimited ? std::numeric_limits<std::int64_t>::max() : loop.max - begun, loop.next, head.stack);
}

GrammarMasks::Leaves GrammarMasks::leaves_of(std::vector<std::pair<TrieNode, std::int32_t>> places) const {
  Leaves leaves;
  const auto nodes = trie_->nodes();
  if (places.size() * 16 < nodes.size()) {
    leaves.few = std::move(places);
    return leaves;
  }
  leaves.many.assign(nodes.size(), -1);
  constexpr std::int32_t kTop = std::numeric_limits<std::int16_t>::max();
  for (const auto& [node, units] : places) leaves.many[node] = static_cast<std::int16_t>(std::min(units, kTop));
  return leaves;
}

template <class Enter>
void GrammarMasks::each_next(const Leaves& leaves, std::int64_t min, std::int64_t max, std::int32_t start, Enter&& enter) {
  const auto nodes = trie_->nodes();
  for (const auto& [place, units] : leaves.few) {
    if (units < min || units > max) continue;
    for (TrieNode child = place + 1; child < nodes[place].end; child = nodes[child].end)
      if (const std::int32_t to = dfa_->next(start, nodes[child].byte); to != LocalDfa::kDead) enter(to, child);
  }
  for (int b = 0; b < 256 && !leaves.many.empty(); ++b) {
    const std::int32_t to = dfa_->next(start, static_cast<std::uint8_t>(b));
    if (to == LocalDfa::kDead) continue;
    for (const TrieNode child : trie_->nodes_of_byte(static_cast<std::uint8_t>(b))) {
      const std::int16_t units = leaves.many[trie_->parent(child)];
      if (units >= 0 && units >= min && units <= max) enter(to, child);
    }
  }
}

void GrammarMasks::resume(Work& w, const Leaves& leaves, std::int64_t min, std::int64_t max, NodeId node, std::int32_t stack) {
  if (leaves.empty()) return;
  std::vector<TrieNode> places, ended;  // further ones, where callers ended
  const auto token = [&](std::int32_t id) { set_bit(w.bits, id); };
  const auto leaf = [&](TrieNode n) { ended.push_back(n); };
  for (bool all = true;;) {  // all: the leaves themselves are such places
    const std::int32_t start = dfa_->start({node});
    if (all) each_next(leaves, min, max, start, [&](std::int32_t to, TrieNode child) { dfa_->enter(to, *trie_, child, token, leaf); });
    for (const TrieNode place : places) {
      if (dfa_->accepts(start)) ended.push_back(place);
      dfa_->walk(start, *trie_, place, token, leaf);
    }
    all = all && dfa_->accepts(start);
    if ((ended.empty() && !all) || stack == 0) return;
    std::sort(ended.begin(), ended.end());
    ended.erase(std::unique(ended.begin(), ended.end()), ended.end());
    std::swap(places, ended);
    ended.clear();
    node = w.stacks->ret(stack);
    stack = w.stacks->below(stack);
  }
}

}  // namespace hz::engine
