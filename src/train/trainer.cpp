// SPDX-License-Identifier: Apache-2.0
// Trainer: the loop.
#include "hanzo/train/trainer.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <fstream>
#include <numeric>
#include <utility>

#include "hanzo/core/parallel.hpp"
#include "hanzo/ops/grad.hpp"

namespace hz::train {
namespace {

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

std::int64_t steps_of(const TrainOptions& o, const Batches& batches) {
  if (o.steps < 0 || o.epochs < 0 || (o.steps == 0 && o.epochs == 0))
    throw Error(ErrorKind::usage, "there are no steps to train", "", "give --steps or --epochs");
  return o.steps > 0 ? o.steps : o.epochs * batches.steps_per_epoch();
}

std::unique_ptr<optim::Optimizer> optimizer_of(const TrainOptions& o, const std::vector<Var>& parameters) {
  return std::make_unique<optim::AdamW>(optim::lora_plus_groups(parameters, o.lora_plus),
                                        optim::AdamWOptions{o.lr, o.beta1, o.beta2, o.eps, o.weight_decay});
}

// The dropout seed of a micro-batch: another one for each.
Seed seed_of(std::uint64_t seed, std::int64_t step, std::int64_t micro) {
  const auto r = philox(seed, std::uint64_t{0x64726f70} << 32 | static_cast<std::uint64_t>(micro), static_cast<std::uint64_t>(step));
  return {static_cast<std::uint64_t>(r[0]) << 32 | r[1]};
}

constexpr double kSmooth = 0.9;

}  // namespace

// The leaves of this step that belong to this rank: [first, last) of all micro-batches.
struct Trainer::Step {
  StepBatch batch;
  std::int64_t first = 0, last = 0;
  std::vector<double> losses;  // of this rank's leaves, in order
};

Trainer::Trainer(Objective& objective, std::span<const Example> train, std::span<const Example> eval, const TrainOptions& options,
                 std::filesystem::path folder, Peers* peers)
    : objective_(objective),
      train_(train),
      eval_(eval),
      options_(options),
      folder_(std::move(folder)),
      peers_(peers != nullptr ? peers : &alone_),
      units_(make_units(train, options.packing, options.max_tokens)),
      batches_(static_cast<std::int64_t>(units_.size()), {options.micro_batch, options.accumulate, options.seed}),
      total_(steps_of(options, batches_)),
      schedule_({.kind = options.schedule, .total = total_, .warmup = options.warmup, .min_ratio = options.min_lr_ratio}),
      optimizer_(optimizer_of(options, objective.parameters())),
      tree_(optimizer_->parameters()),
      checkpoints_(folder_, options.keep) {}

std::vector<const Example*> Trainer::documents(std::span<const std::int32_t> units) const {
  std::vector<const Example*> all;
  for (const std::int32_t u : units)
    for (const std::int32_t e : units_[static_cast<std::size_t>(u)].examples) all.push_back(&train_[static_cast<std::size_t>(e)]);
  return all;
}

double Trainer::epoch_now() const { return static_cast<double>(state_.step) / static_cast<double>(batches_.steps_per_epoch()); }

// True after every `every` steps, or without a number after each epoch; and at the end.
bool Trainer::due(std::int64_t every) const {
  const std::int64_t n = every > 0 ? every : batches_.steps_per_epoch();
  return state_.step % n == 0 || state_.step == total_;
}

// Gradients of this rank's micro-batches; false when a stop came first. What is done then stays done.
bool Trainer::take_step(Step& step, std::stop_token stop) {
  for (std::int64_t m = step.first + tree_.leaves(); m < step.last; ++m) {
    if (stop.stop_requested()) return false;
    const auto docs = documents(step.batch.micro_batches[static_cast<std::size_t>(m)]);
    try {
      const StopScope scope(stop);  // also on the way back
      Tape tape({.checkpoint = options_.recompute, .seed = seed_of(options_.seed, state_.step, m)});
      const Tensor loss = objective_.loss(docs, stop);
      tree_.add(tape.backward(loss));
      step.losses.push_back(static_cast<double>(loss.item()));
      mind_memory();
    } catch (const Error& e) {
      if (e.kind() == ErrorKind::numeric && state_.step > 0) diverged(e);
      if (e.kind() != ErrorKind::cancelled) throw;
      return false;
    }
  }
  return true;
}

// The base alone was finite: it is the training that went wrong.
void Trainer::diverged(const Error& e) const {
  throw Error(ErrorKind::numeric, "the training has diverged after step " + std::to_string(state_.step) + ": " + e.what(), folder_.string(),
              "start again in another folder with a lower --lr, a longer --warmup or a lower --clip");
}

// Micro-batches of many sizes leave blocks of many sizes in the arena's cache: given back when they are much more than
// one micro-batch needs.
void Trainer::mind_memory() {
  constexpr std::uint64_t kSlack = std::uint64_t{64} << 20;
  const std::uint64_t now_resident = resident_bytes();
  if (std::exchange(trimmed_, false)) usual_memory_ = std::max(usual_memory_, now_resident);
  if (now_resident <= usual_memory_ + usual_memory_ / 8 + kSlack) return;
  trim_host_arena();
  trimmed_ = true;
}

void Trainer::finish_step(const Step& step) {
  std::vector<Tensor> gradients = tree_.finish();
  peers_->sum(gradients);
  for (std::size_t i = 0; i < gradients.size(); ++i)  // what other ranks alone had may arrive without its shape
    if (gradients[i].defined()) gradients[i] = gradients[i].reshape(optimizer_->parameters()[i].shape());
  MetricRow row;
  for (const auto& m : step.batch.micro_batches)
    for (const std::int32_t u : m) {
      row.trained_tokens += units_[static_cast<std::size_t>(u)].trained;
      row.tokens += units_[static_cast<std::size_t>(u)].tokens;
    }
  for (const double l : peers_->gather(step.losses)) row.loss += l;
  const double share = 1.0 / static_cast<double>(row.trained_tokens);
  row.loss *= share;
  row.grad_norm = optim::global_norm(gradients) * share;
  row.lr = options_.lr * schedule_.factor(state_.step);
  optimizer_->step(gradients,
                   {.lr = row.lr, .scale = share * optim::clip_factor(row.grad_norm, options_.clip), .threads = options_.threads});
  ++state_.step;
  state_.micro = 0;
  state_.loss_sum = 0;
  state_.evaluated = false;
  state_.tokens += row.tokens;
  row.step = state_.step;
  row.epoch = epoch_now();
  row.skipped = optimizer_->skipped();
  tell(row);
}

void Trainer::tell(const MetricRow& given) {
  MetricRow row = given;
  row.elapsed_s = state_.elapsed_s + now() - begun_;
  if (!row.eval_loss) {
    const double before = log_ == nullptr || log_->rows().empty() ? state_.elapsed_s : log_->rows().back().elapsed_s;
    row.tokens_per_s = static_cast<double>(row.tokens) / std::max(1e-9, row.elapsed_s - before);
    if (std::isfinite(row.loss)) smoothed_ = smoothed_ == 0 ? row.loss : kSmooth * smoothed_ + (1 - kSmooth) * row.loss;
  }
  if (log_ != nullptr) log_->add(row);
  if (!report_ || peers_->rank() != 0) return;
  Progressed p{row, total_, smoothed_, 0, resident_bytes()};
  const auto done = static_cast<double>(state_.step - begun_step_);
  if (done > 0) p.eta_s = (now() - begun_) / done * static_cast<double>(total_ - state_.step);
  report_(p);
}

double Trainer::evaluate(Objective& objective, std::span<const Example> examples, std::int64_t tokens, std::stop_token stop) {
  const NoGrad off;
  const StopScope scope(stop);
  double sum = 0;
  std::int64_t trained = 0;
  for (std::size_t at = 0; at < examples.size();) {
    std::vector<const Example*> docs;
    std::int64_t room = tokens;
    do {
      docs.push_back(&examples[at]);
      trained += examples[at].trained();
      room -= static_cast<std::int64_t>(examples[at++].ids.size());
    } while (at < examples.size() && static_cast<std::int64_t>(examples[at].ids.size()) <= room);
    sum += static_cast<double>(objective.loss(docs, stop).item());
  }
  return sum / static_cast<double>(std::max<std::int64_t>(1, trained));
}

void Trainer::remember_best(double loss) {
  if (state_.best_step >= 0 && !(loss < state_.best_loss)) {
    ++state_.stale;
    return;
  }
  state_.best_loss = loss;
  state_.best_step = state_.step;
  state_.stale = 0;
  best_.clear();
  for (const Var& v : optimizer_->parameters()) best_.push_back(v.tensor().clone());
}

// Empty when a stop came first.
std::optional<double> Trainer::evaluation(std::stop_token stop) {
  try {
    return evaluate(objective_, eval_, options_.max_tokens, std::move(stop));
  } catch (const Error& e) {
    if (e.kind() == ErrorKind::numeric && state_.step > 0) diverged(e);
    if (e.kind() != ErrorKind::cancelled) throw;
    return std::nullopt;
  }
}

void Trainer::note_evaluation(double loss) {
  MetricRow row;
  row.step = state_.step;
  row.epoch = epoch_now();
  row.eval_loss = loss;
  remember_best(loss);
  tell(row);
  if (options_.early_stop > 0 && state_.stale >= options_.early_stop) state_.stopped = true;
}

void Trainer::save() {
  if (peers_->rank() != 0) return;
  Checkpoint c;
  c.state = state_;
  c.state.updates = optimizer_->steps();
  c.state.skipped = optimizer_->skipped();
  c.state.elapsed_s = state_.elapsed_s + now() - begun_;
  for (const auto& [name, t] : optimizer_->state()) c.tensors.emplace("optimizer." + name, t);
  for (const auto& [name, t] : tree_.state()) c.tensors.emplace("gradient." + name, t);
  for (std::size_t i = 0; i < best_.size(); ++i) c.tensors.emplace("best." + optimizer_->parameters()[i].name(), best_[i]);
  checkpoints_.save(c);
}

void Trainer::restore(const Checkpoint& c) {
  state_ = c.state;
  if (state_.step > total_)
    throw Error(ErrorKind::bad_file, "the checkpoint is of step " + std::to_string(state_.step) + ", the run has " + std::to_string(total_),
                folder_.string());
  optimizer_->load_state([&](const std::string& name) { return c.find("optimizer." + name); }, state_.updates, state_.skipped);
  const auto tensor = [&](const std::string& name) {
    const Tensor* t = c.find(name);
    return t == nullptr ? Tensor() : *t;
  };
  if (peers_->size() > 1) state_.micro = 0;  // a part of a step is one process's: several do it again
  else tree_.load_state([&](const std::string& name) { return tensor("gradient." + name); }, state_.micro);
  best_.clear();
  if (state_.best_step < 0) return;
  for (const Var& v : optimizer_->parameters()) {
    best_.push_back(tensor("best." + v.name()));
    if (!best_.back().defined()) throw Error(ErrorKind::bad_file, "the checkpoint lacks best." + v.name(), folder_.string());
  }
}

void Trainer::interrupt() {
  interrupted_ = true;
  save();
}

// A stop amid a step: what one process has of it is kept; several, who have it in parts, do it again.
void Trainer::interrupt_step(const Step& step) {
  if (peers_->size() > 1) tree_.clear();
  state_.micro = tree_.leaves();
  state_.loss_sum = state_.micro > 0 ? std::accumulate(step.losses.begin(), step.losses.end(), 0.0) : 0.0;
  interrupt();
}

// Evaluation and checkpoint after a step; false when the run ends here.
bool Trainer::between_steps(std::stop_token stop) {
  if (!state_.evaluated && !eval_.empty() && due(options_.eval_every)) {
    const std::optional<double> loss = evaluation(stop);
    if (peers_->any(!loss)) {  // a rank that had its loss in time forgets it with the others
      interrupt();
      return false;
    }
    note_evaluation(*loss);
  }
  state_.evaluated = true;
  const bool last = state_.step >= total_ || state_.stopped;
  if (state_.step > begun_step_ && (last || due(options_.checkpoint_every))) save();
  if (last) return false;
  if (!peers_->any(stop.stop_requested())) return true;
  interrupt();
  return false;
}

TrainResult Trainer::run(bool resume, const std::function<void(const Progressed&)>& report, std::stop_token stop) {
  report_ = report;
  if (resume)
    if (const auto c = checkpoints_.latest()) restore(*c);
  if (peers_->rank() == 0) log_ = std::make_unique<RunLog>(folder_, state_.step, state_.evaluated);
  begun_ = now();
  begun_step_ = state_.step;
  while ((tree_.leaves() > 0 && state_.step < total_) || between_steps(stop)) {
    Step step{batches_.step(state_.step), 0, 0, {}};
    const auto leaves = static_cast<std::int64_t>(step.batch.micro_batches.size());
    std::int64_t share = 1;  // leaves of a rank: a power of two, so that each rank is one node of the tree
    while (share * peers_->size() < leaves) share *= 2;
    step.first = std::min(leaves, share * peers_->rank());
    step.last = std::min(leaves, step.first + share);
    if (state_.micro > 0) step.losses.push_back(state_.loss_sum);
    if (peers_->any(!take_step(step, stop))) {
      interrupt_step(step);
      break;
    }
    finish_step(step);
  }
  if (!interrupted_ && (options_.keep_best || options_.early_stop > 0))
    for (std::size_t i = 0; i < best_.size(); ++i) optimizer_->parameters()[i].assign(best_[i]);
  if (log_ != nullptr) log_->write_picture();
  if (!interrupted_) check_parameters();
  return result();
}

// The last step's update is seen by no forward pass.
void Trainer::check_parameters() const {
  for (const Var& v : optimizer_->parameters())
    for (std::int64_t i = 0; i < v.tensor().numel(); ++i)
      if (!std::isfinite(ops::dense_value(v.tensor(), i))) diverged(Error(ErrorKind::numeric, v.name() + " is not finite"));
}

TrainResult Trainer::result() const {
  TrainResult r;
  r.steps = state_.step;
  r.total = total_;
  r.skipped = optimizer_->skipped();
  r.interrupted = interrupted_;
  r.early = state_.stopped;
  r.best_step = state_.best_step;
  if (state_.best_step >= 0) r.best_eval = state_.best_loss;
  bool first = true;
  for (const MetricRow& row : log_ != nullptr ? log_->rows() : std::vector<MetricRow>{}) {
    if (row.eval_loss) {
      if (!r.first_eval) r.first_eval = row.eval_loss;
      r.last_eval = row.eval_loss;
      continue;
    }
    if (std::exchange(first, false)) r.first_loss = row.loss;
    r.last_loss = row.loss;
  }
  return r;
}

namespace {

// A line "NAME:   1234 kB" of the process's status.
std::uint64_t status_bytes(const std::string& name) {
  std::ifstream in("/proc/self/status");
  for (std::string word; in >> word;)
    if (word == name) {
      std::uint64_t kb = 0;
      in >> kb;
      return kb * 1024;
    }
  return 0;
}

}  // namespace

std::uint64_t resident_bytes() { return status_bytes("VmRSS:"); }
std::uint64_t peak_resident_bytes() { return status_bytes("VmHWM:"); }

}  // namespace hz::train
