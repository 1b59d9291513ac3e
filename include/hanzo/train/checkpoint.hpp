// SPDX-License-Identifier: Apache-2.0
// Checkpoints: everything a run needs to go on as if it had never stopped, in one folder that appears whole.
#pragma once
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include "hanzo/core/tensor.hpp"

namespace hz::train {

// Where a run stands. Random numbers and the order of the data are functions of seed, step and micro-batch alone.
struct RunState {
  std::int64_t step = 0;                  // optimizer steps done, refused ones included
  std::int64_t micro = 0;                 // micro-batches done of the next step
  std::int64_t updates = 0, skipped = 0;  // of the optimizer
  double loss_sum = 0;                    // of those micro-batches
  double elapsed_s = 0;
  double best_loss = 0;  // lowest evaluation; of step best_step, -1: none yet
  std::int64_t best_step = -1;
  std::int64_t stale = 0;   // evaluations since
  std::int64_t tokens = 0;  // seen so far
  bool evaluated = false;   // the evaluation that may follow `step` is done
  bool stopped = false;     // early stopping ended the run
};

struct Checkpoint {
  RunState state;
  std::map<std::string, Tensor> tensors;  // "optimizer.NAME", "gradient.NAME", "best.NAME"
  const Tensor* find(const std::string& name) const;
};

// Checkpoints in FOLDER/checkpoints/step-000123 (or step-000123-m4 amid a step).
class Checkpoints {
 public:
  Checkpoints(const std::filesystem::path& folder, std::int64_t keep);
  // Writes one and removes older ones beyond `keep`. Throws Error(io).
  void save(const Checkpoint& checkpoint) const;
  // The furthest one; nullopt when there is none. Throws bad_file when it is damaged.
  std::optional<Checkpoint> latest() const;
  void remove_all() const;

 private:
  std::filesystem::path folder_;
  std::int64_t keep_;
};

}  // namespace hz::train
