// SPDX-License-Identifier: Apache-2.0
// LocalDfa: states are interned configs.
#include "src/engine/grammar/local_dfa.hpp"

#include "hanzo/core/error.hpp"

namespace hz::engine {
namespace {

constexpr std::size_t kMostBytes = std::size_t{256} << 20;

std::uint64_t hash_of(const Config& c) {
  std::uint64_t h = c.accept ? 0x9E3779B97F4A7C15ull : 0x2545F4914F6CDD1Dull;
  const auto add = [&](std::int32_t v) { h = (h ^ static_cast<std::uint32_t>(v)) * 0xC2B2AE3D27D4EB4Full, h ^= h >> 31; };
  for (const Head& x : c.heads) add(x.node), add(x.stack), add(x.unit), add(x.count);
  return h;
}

}  // namespace

std::int32_t LocalDfa::start(const std::vector<NodeId>& nodes) {
  const auto found = starts_.find(nodes);
  if (found != starts_.end()) return found->second;
  scratch_.clear();
  for (const NodeId n : nodes) scratch_.push_back({n});
  stepper_.close(scratch_, stacks_, config_);
  return starts_[nodes] = intern(config_);
}

std::int32_t LocalDfa::explore(std::int32_t state, std::uint8_t byte) {
  stepper_.step(states_[static_cast<std::size_t>(state)], byte, scratch_);
  stepper_.close(scratch_, stacks_, config_);
  const std::int32_t to = config_.heads.empty() && !config_.accept ? kDead : intern(config_);
  table_[automaton_->cell(state, byte)] = to;
  return to;
}

std::int32_t LocalDfa::intern(const Config& config) {
  const std::uint64_t h = hash_of(config);
  const auto [begin, end] = by_hash_.equal_range(h);
  for (auto i = begin; i != end; ++i) {
    const Config& c = states_[static_cast<std::size_t>(i->second)];
    if (c.heads == config.heads && c.accept == config.accept) return i->second;
  }
  if (bytes() > kMostBytes)
    throw Error(ErrorKind::unsupported, "the grammar needs over 256 MiB of states for one step of this vocabulary", "grammar",
                "write it with less ambiguity or smaller bounds");
  const auto id = static_cast<std::int32_t>(states_.size());
  states_.push_back(config);
  accepts_.push_back(config.accept ? 1 : 0);
  heads_ += config.heads.size();
  table_.resize(table_.size() + static_cast<std::size_t>(automaton_->classes), kUnknown);
  by_hash_.emplace(h, id);
  return id;
}

}  // namespace hz::engine
