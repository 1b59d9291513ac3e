// SPDX-License-Identifier: Apache-2.0
#include "hanzo/train/batches.hpp"

#include <algorithm>
#include <map>
#include <numeric>

#include "hanzo/core/random.hpp"

namespace hz::train {
namespace {

constexpr std::uint64_t kOrderStream = std::uint64_t{0x6f72646572} << 24;  // streams of epochs; others are far away

void put(Unit& unit, std::int32_t index, const Example& e) {
  unit.examples.push_back(index);
  unit.tokens += static_cast<std::int64_t>(e.ids.size());
  unit.trained += e.trained();
}

}  // namespace

std::vector<Unit> make_units(std::span<const Example> examples, bool packing, std::int64_t max_tokens) {
  std::vector<std::int32_t> order(examples.size());
  std::iota(order.begin(), order.end(), 0);
  const auto size = [&](std::int32_t i) { return examples[static_cast<std::size_t>(i)].ids.size(); };
  if (packing) std::stable_sort(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) { return size(a) > size(b); });
  std::vector<Unit> units;
  std::multimap<std::int64_t, std::size_t> room;  // free tokens of the units that have some
  for (const std::int32_t i : order) {
    const auto n = static_cast<std::int64_t>(size(i));
    const auto best = packing ? room.lower_bound(n) : room.end();
    const std::size_t at = best == room.end() ? units.size() : best->second;
    if (best == room.end()) units.emplace_back();
    else room.erase(best);
    put(units[at], i, examples[static_cast<std::size_t>(i)]);
    if (const std::int64_t left = max_tokens - units[at].tokens; packing && left > 0) room.emplace(left, at);
  }
  return units;
}

std::vector<std::int32_t> epoch_order(std::uint64_t seed, std::int64_t epoch, std::int64_t n) {
  std::vector<std::int32_t> order(static_cast<std::size_t>(n));
  std::iota(order.begin(), order.end(), 0);
  for (std::size_t i = order.size(); i > 1; --i) {  // Fisher and Yates; the top of a 64-bit product is uniform enough for any count
    const auto r = philox(seed, kOrderStream + static_cast<std::uint64_t>(epoch), i);
    const auto j = static_cast<std::size_t>((static_cast<std::uint64_t>(r[0]) * i) >> 32);
    std::swap(order[i - 1], order[j]);
  }
  return order;
}

Batches::Batches(std::int64_t units, const BatchOptions& options) : units_(units), options_(options) {
  if (units < 1) throw Error(ErrorKind::usage, "[batches] there is nothing to train on");
  if (options.micro_batch < 1 || options.accumulate < 1)
    throw Error(ErrorKind::usage, "[batches] micro-batch and accumulation are at least 1");
  const std::int64_t per_step = options.micro_batch * options.accumulate;
  steps_ = (units + per_step - 1) / per_step;
}

StepBatch Batches::step(std::int64_t index) const {
  StepBatch batch;
  batch.epoch = index / steps_;
  if (batch.epoch != epoch_) {
    order_ = epoch_order(options_.seed, batch.epoch, units_);
    if (!options_.shuffle) std::iota(order_.begin(), order_.end(), 0);
    epoch_ = batch.epoch;
  }
  const std::int64_t per_step = options_.micro_batch * options_.accumulate, begin = index % steps_ * per_step,
                     end = std::min(units_, begin + per_step);
  for (std::int64_t at = begin; at < end; at += options_.micro_batch) {
    const auto first = order_.begin() + at;
    batch.micro_batches.emplace_back(first, first + std::min(options_.micro_batch, end - at));
  }
  return batch;
}

}  // namespace hz::train
