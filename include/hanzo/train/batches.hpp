// SPDX-License-Identifier: Apache-2.0
// Batches: which examples each optimizer step sees, as a function of the seed and the step alone.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "hanzo/train/dataset.hpp"

namespace hz::train {

// Examples that are evaluated side by side in one row of a micro-batch. Each stays a sequence of its own, with its own
// positions and cache pages: none sees another.
struct Unit {
  std::vector<std::int32_t> examples;  // indices
  std::int64_t tokens = 0, trained = 0;
};
// One unit per example; or, packed, examples put together by best fit, longest first, up to max_tokens.
std::vector<Unit> make_units(std::span<const Example> examples, bool packing, std::int64_t max_tokens);

// The order of `n` units in an epoch: a permutation drawn from (seed, epoch).
std::vector<std::int32_t> epoch_order(std::uint64_t seed, std::int64_t epoch, std::int64_t n);

struct BatchOptions {
  std::int64_t micro_batch = 1;  // units evaluated at once
  std::int64_t accumulate = 1;   // micro-batches of a step
  std::uint64_t seed = 0;
  bool shuffle = true;
};

// One optimizer step: micro-batches of units. The last step of an epoch may be smaller; no unit is dropped, and none
// occurs twice in an epoch.
struct StepBatch {
  std::int64_t epoch = 0;
  std::vector<std::vector<std::int32_t>> micro_batches;  // indices of units
};

class Batches {
 public:
  Batches(std::int64_t units, const BatchOptions& options);
  std::int64_t steps_per_epoch() const { return steps_; }
  StepBatch step(std::int64_t index) const;  // counted from 0 over all epochs

 private:
  std::int64_t units_, steps_;
  BatchOptions options_;
  mutable std::int64_t epoch_ = -1;
  mutable std::vector<std::int32_t> order_;
};

}  // namespace hz::train
