// SPDX-License-Identifier: Apache-2.0
// Trainer: the loop of every objective: micro-batches, accumulation, clipping, schedule, evaluation, checkpoints.
#pragma once
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "hanzo/autograd/tape.hpp"
#include "hanzo/nn/optim.hpp"
#include "hanzo/nn/schedule.hpp"
#include "hanzo/train/batches.hpp"
#include "hanzo/train/checkpoint.hpp"
#include "hanzo/train/grad_tree.hpp"
#include "hanzo/train/run_log.hpp"

namespace hz::train {

// What is minimised.
class Objective {
 public:
  virtual ~Objective() = default;
  // The sum of the loss over the trained tokens of documents evaluated side by side, [1], under the active tape if any.
  // Throws Error(cancelled) once a stop was asked for.
  virtual Tensor loss(std::span<const Example* const> documents, std::stop_token stop) = 0;
  // What is trained, in a fixed order under stable names.
  virtual std::vector<Var> parameters() const = 0;
};

// Other processes that train the same parameters on other micro-batches of the same steps.
class Peers {
 public:
  virtual ~Peers() = default;
  virtual int rank() const { return 0; }
  virtual int size() const { return 1; }
  // Sums the ranks' values in the order of GradTree, each rank being one node; all ranks get the sum.
  virtual void sum(std::vector<Tensor>&) {}
  // The ranks' lists, one after another, in every rank.
  virtual std::vector<double> gather(std::vector<double> mine) { return mine; }
  virtual bool any(bool mine) { return mine; }  // whether it is true in any rank
};

struct TrainOptions {
  // result: two runs that differ in one of these are two runs
  double lr = 2e-4, weight_decay = 0.0, lora_plus = 1.0;  // lora_plus: how much faster B learns
  double beta1 = 0.9, beta2 = 0.999, eps = 1e-8;
  double clip = 1.0;  // of the gradient's norm; 0: none
  optim::ScheduleKind schedule = optim::ScheduleKind::cosine;
  double warmup = 0.03;  // steps, or below 1 a share of them
  double min_lr_ratio = 0.0;
  std::int64_t epochs = 1;
  std::int64_t steps = 0;  // in place of epochs when positive
  std::int64_t micro_batch = 1, accumulate = 1;
  bool packing = false;
  std::int64_t max_tokens = 1024;  // of a packed unit
  std::uint64_t seed = 0;
  std::int64_t eval_every = 0;  // steps; 0: after each epoch
  std::int64_t early_stop = 0;  // evaluations without a lower loss that end the run; 0: never
  bool keep_best = false;       // end with the parameters of the lowest evaluation
  // no result: these may change between a run and its resumption
  std::int64_t checkpoint_every = 0;  // steps; 0: at the end of each epoch
  std::int64_t keep = 2;              // checkpoints
  bool recompute = true;              // layers on the way back, in place of keeping all that they computed
  int threads = 0;
};

// After each optimizer step and evaluation.
struct Progressed {
  MetricRow row;
  std::int64_t total = 0;  // steps of the run
  double smoothed = 0;     // running mean of the loss
  double eta_s = 0;
  std::uint64_t memory = 0;  // bytes resident
};

struct TrainResult {
  std::int64_t steps = 0, total = 0, skipped = 0;
  double first_loss = 0, last_loss = 0;
  std::optional<double> first_eval = {}, last_eval = {}, best_eval = {};
  std::int64_t best_step = -1;
  bool interrupted = false, early = false;  // stopped by request; by early stopping
};

class Trainer {
 public:
  // folder: where checkpoints, metrics and picture go. The examples must outlive the trainer.
  Trainer(Objective& objective, std::span<const Example> train, std::span<const Example> eval, const TrainOptions& options,
          std::filesystem::path folder, Peers* peers = nullptr);

  // Goes on from the furthest checkpoint when `resume`, else from the start, to the end; or until `stop`, after a checkpoint.
  TrainResult run(bool resume, const std::function<void(const Progressed&)>& report = {}, std::stop_token stop = {});
  std::int64_t total_steps() const { return total_; }
  // Mean loss over the trained tokens of `examples`, evaluated side by side as long as they have at most `tokens` together.
  static double evaluate(Objective& objective, std::span<const Example> examples, std::int64_t tokens, std::stop_token stop = {});

 private:
  struct Step;  // one optimizer step's sums
  bool take_step(Step& step, std::stop_token stop);
  [[noreturn]] void diverged(const Error& e) const;
  void finish_step(const Step& step);
  bool between_steps(std::stop_token stop);
  void interrupt();
  void interrupt_step(const Step& step);
  void mind_memory();
  void check_parameters() const;
  TrainResult result() const;
  std::optional<double> evaluation(std::stop_token stop);
  void note_evaluation(double loss);
  void remember_best(double loss);
  void restore(const Checkpoint& checkpoint);
  void save();
  void tell(const MetricRow& row);
  double epoch_now() const;
  bool due(std::int64_t every) const;
  std::vector<const Example*> documents(std::span<const std::int32_t> units) const;

  Objective& objective_;
  std::span<const Example> train_, eval_;
  TrainOptions options_;
  std::filesystem::path folder_;
  Peers* peers_;
  Peers alone_;
  std::vector<Unit> units_;
  Batches batches_;
  std::int64_t total_;
  optim::Schedule schedule_;
  std::unique_ptr<optim::Optimizer> optimizer_;
  GradTree tree_;
  RunState state_;
  std::vector<Tensor> best_;  // copies of the parameters, in their order
  Checkpoints checkpoints_;
  std::unique_ptr<RunLog> log_;
  bool interrupted_ = false, trimmed_ = true;
  std::uint64_t usual_memory_ = 0;  // bytes resident after a micro-batch with nothing cached before it
  double begun_ = 0, smoothed_ = 0;
  std::int64_t begun_step_ = 0;
  std::function<void(const Progressed&)> report_;
};

// Bytes of memory that this process has resident, and has had at most.
std::uint64_t resident_bytes();
std::uint64_t peak_resident_bytes();

}  // namespace hz::train
