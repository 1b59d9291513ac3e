// SPDX-License-Identifier: Apache-2.0
// Merges: a hash of pairs; short runs by repeated search for the best pair, long ones with a heap.
#include "src/text/merges.hpp"

#include <algorithm>
#include <bit>
#include <iterator>
#include <span>

#include "src/core/stop_check.hpp"

namespace hz::text::detail {
namespace {

constexpr std::size_t kShort = 48;  // symbols up to which the quadratic search is the faster one

std::uint64_t key_of(TokenId left, TokenId right) {
  return static_cast<std::uint64_t>(static_cast<std::uint32_t>(left)) << 32 | static_cast<std::uint32_t>(right);
}

}  // namespace

void Merges::reserve(std::size_t rules) { grow(std::bit_ceil(2 * rules + 16)); }

void Merges::add(TokenId left, TokenId right, Rule rule) {
  if (2 * (count_ + 1) > slots_.size()) grow(slots_.empty() ? 64 : 2 * slots_.size());
  const std::uint64_t key = key_of(left, right);
  const std::size_t mask = slots_.size() - 1;
  std::size_t i = hash_pair(key, seed_) & mask;
  for (; slots_[i].key != ~0ULL; i = (i + 1) & mask)
    if (slots_[i].key == key) return;
  slots_[i] = {key, rule};
  ++count_;
}

Merges::Rule Merges::find(TokenId left, TokenId right) const {
  if (slots_.empty() || left < 0 || right < 0) return {kNone, -1};
  const std::uint64_t key = key_of(left, right);
  const std::size_t mask = slots_.size() - 1;
  for (std::size_t i = hash_pair(key, seed_) & mask; slots_[i].key != ~0ULL; i = (i + 1) & mask)
    if (slots_[i].key == key) return slots_[i].rule;
  return {kNone, -1};
}

void Merges::hash(io::Sha256& sha) const {
  std::vector<Slot> rules;
  std::copy_if(slots_.begin(), slots_.end(), std::back_inserter(rules), [](const Slot& s) { return s.key != ~0ULL; });
  std::sort(rules.begin(), rules.end(), [](const Slot& a, const Slot& b) { return a.rule.rank < b.rule.rank; });
  for (const Slot& s : rules) {
    const std::uint64_t words[2] = {s.key, static_cast<std::uint64_t>(s.rule.rank) << 32 | static_cast<std::uint32_t>(s.rule.result)};
    sha.update(std::as_bytes(std::span(words)));
  }
}

void Merges::grow(std::size_t slots) {
  if (slots <= slots_.size()) return;
  std::vector<Slot> old(slots);
  old.swap(slots_);
  const std::size_t mask = slots_.size() - 1;
  for (const Slot& s : old) {
    if (s.key == ~0ULL) continue;
    std::size_t i = hash_pair(s.key, seed_) & mask;
    while (slots_[i].key != ~0ULL) i = (i + 1) & mask;
    slots_[i] = s;
  }
}

void Merges::apply(std::vector<Symbol>& symbols, Scratch& scratch) const {
  if (symbols.size() < 2) return;
  if (symbols.size() <= kShort)
    apply_short(symbols, scratch);
  else
    apply_long(symbols, scratch);
}

void Merges::apply_short(std::vector<Symbol>& symbols, Scratch& scratch) const {
  auto& rules = scratch.rules;  // rules[i]: of symbols i and i + 1
  rules.resize(symbols.size() - 1);
  for (std::size_t i = 0; i < rules.size(); ++i) rules[i] = find(symbols[i].id, symbols[i + 1].id);
  while (!rules.empty()) {
    const auto best = std::min_element(rules.begin(), rules.end(), [](const Rule& a, const Rule& b) { return a.rank < b.rank; });
    if (best->rank == kNone) return;
    const auto i = static_cast<std::size_t>(best - rules.begin());
    symbols[i] = {best->result, symbols[i].length + symbols[i + 1].length};
    symbols.erase(symbols.begin() + static_cast<std::ptrdiff_t>(i) + 1);
    rules.erase(best);
    if (i < rules.size()) rules[i] = find(symbols[i].id, symbols[i + 1].id);
    if (i > 0) rules[i - 1] = find(symbols[i - 1].id, symbols[i].id);
  }
}

void Merges::apply_long(std::vector<Symbol>& symbols, Scratch& scratch) const {
  using Candidate = Scratch::Candidate;
  auto& links = scratch.links;
  auto& heap = scratch.heap;
  const auto n = static_cast<std::int32_t>(symbols.size());
  const auto later = [](const Candidate& a, const Candidate& b) { return a.rank != b.rank ? a.rank > b.rank : a.left > b.left; };
  const auto at = [&](std::int32_t i) -> Symbol& { return symbols[static_cast<std::size_t>(i)]; };
  const auto link = [&](std::int32_t i) -> Scratch::Link& { return links[static_cast<std::size_t>(i)]; };
  const auto candidate = [&](std::int32_t left, std::int32_t right) {
    const Rule r = find(at(left).id, at(right).id);
    if (r.rank != kNone) heap.push_back({r.rank, left, right, at(left).length + at(right).length, r.result});
    return r.rank != kNone;
  };

  links.resize(symbols.size());
  heap.clear();
  for (std::int32_t i = 0; i < n; ++i) link(i) = {i - 1, i + 1 < n ? i + 1 : -1};
  for (std::int32_t i = 0; i + 1 < n; ++i) candidate(i, i + 1);
  std::make_heap(heap.begin(), heap.end(), later);
  StopCheck check;
  while (!heap.empty()) {
    check();
    std::pop_heap(heap.begin(), heap.end(), later);
    const Candidate c = heap.back();
    heap.pop_back();
    // A symbol of length 0 has gone into its left neighbour; a length that has changed belongs to other symbols.
    if (at(c.left).length == 0 || at(c.right).length == 0 || at(c.left).length + at(c.right).length != c.length) continue;
    at(c.left) = {c.result, c.length};
    at(c.right).length = 0;
    const std::int32_t next = link(c.right).next;
    link(c.left).next = next;
    if (next >= 0) link(next).previous = c.left;
    if (next >= 0 && candidate(c.left, next)) std::push_heap(heap.begin(), heap.end(), later);
    const std::int32_t previous = link(c.left).previous;
    if (previous >= 0 && candidate(previous, c.left)) std::push_heap(heap.begin(), heap.end(), later);
  }
  std::erase_if(symbols, [](const Symbol& s) { return s.length == 0; });
}

}  // namespace hz::text::detail
