// SPDX-License-Identifier: Apache-2.0
// What a run will take, measured on a few of its own steps.
#pragma once
#include <cstdint>

#include "hanzo/train/sft.hpp"

namespace hz::train {

struct TrainPlan {
  std::int64_t steps = 0, rows = 0, eval_rows = 0, tokens_per_epoch = 0, trained_tokens_per_epoch = 0;
  std::int64_t parameters = 0, longest = 0;  // longest: tokens of the largest micro-batch
  double seconds = 0, step_seconds = 0;      // of the whole run, and of a mean step
  double tokens_per_s = 0;
  std::uint64_t memory = 0;        // most bytes resident at one time
  std::uint64_t disk = 0;          // of OUT at the end, its checkpoints included
  std::uint64_t total_memory = 0;  // of the machine, or 0
};

// Runs the largest micro-batch and two smaller ones, forward and back, without changing anything, and extends their
// times over the whole run. Takes about as long as three to six micro-batches.
TrainPlan plan_sft(const SftOptions& options, const SftReport& report = {});

}  // namespace hz::train
