// SPDX-License-Identifier: Apache-2.0
// Plans: a line through measured times of micro-batches, and the peak of the largest.
#include "hanzo/train/plan.hpp"

#include <unistd.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>

#include "hanzo/core/parallel.hpp"

namespace hz::train {
namespace {

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

struct MicroBatch {
  std::vector<const Example*> documents;
  double tokens = 0;
};

std::vector<MicroBatch> micro_batches(const std::vector<Example>& examples, const std::vector<Unit>& units, const TrainOptions& o) {
  std::vector<MicroBatch> all;
  const Batches batches(static_cast<std::int64_t>(units.size()), {o.micro_batch, o.accumulate, o.seed});
  for (std::int64_t s = 0; s < batches.steps_per_epoch(); ++s)
    for (const auto& m : batches.step(s).micro_batches) {
      all.emplace_back();
      for (const std::int32_t u : m) {
        all.back().tokens += static_cast<double>(units[static_cast<std::size_t>(u)].tokens);
        for (const std::int32_t e : units[static_cast<std::size_t>(u)].examples)
          all.back().documents.push_back(&examples[static_cast<std::size_t>(e)]);
      }
    }
  std::sort(all.begin(), all.end(), [](const MicroBatch& a, const MicroBatch& b) { return a.tokens > b.tokens; });
  return all;
}

// Seconds of a micro-batch, forward and back.
double measure(SftObjective& objective, const MicroBatch& m, bool recompute, const std::stop_token& stop) {
  const StopScope scope(stop);  // also on the way back
  const double begin = now();
  Tape tape({.checkpoint = recompute});
  const Tensor loss = objective.loss(m.documents, stop);
  tape.backward(loss);
  return now() - begin;
}

// time = a + b * tokens, through measured points, with a and b not negative.
struct Line {
  double a = 0, b = 0;
  double at(double tokens) const { return a + b * tokens; }
};
Line line_through(const std::vector<std::pair<double, double>>& points) {
  double n = 0, x = 0, y = 0, xx = 0, xy = 0;
  for (const auto& [t, s] : points) {
    n += 1;
    x += t;
    y += s;
    xx += t * t;
    xy += t * s;
  }
  const double spread = n * xx - x * x;
  Line l;
  l.b = spread > 1e-9 * xx ? std::max(0.0, (n * xy - x * y) / spread) : y / x;
  l.a = (y - l.b * x) / n;
  if (l.a < 0) l = {0, xy / xx};
  return l;
}

// Bytes that a run keeps for its parameters, beside the model.
struct ParameterBytes {
  std::uint64_t values = 0;     // as they are served
  std::uint64_t floats = 0;     // as F32: a gradient, a moment
  std::uint64_t optimizer = 0;  // two moments, and the masters of what is not F32
  std::uint64_t best = 0;       // the best copy

  ParameterBytes(const std::vector<Var>& parameters, bool evaluates) {
    for (const Var& v : parameters) {
      const auto f = static_cast<std::uint64_t>(v.tensor().numel()) * sizeof(float);
      values += v.tensor().nbytes();
      floats += f;
      optimizer += 2 * f + (v.tensor().dtype() == DType::f32 ? 0 : f);
    }
    best = evaluates ? values : 0;
  }
};

// Sums of gradients that GradTree holds while the last leaf is computed, at most: the binary digits of the leaves before it.
std::uint64_t sums_at_once(std::int64_t leaves) {
  int most = 0;
  for (std::int64_t n = 0; n < leaves; ++n) most = std::max(most, std::popcount(static_cast<std::uint64_t>(n)));
  return static_cast<std::uint64_t>(most);
}

std::uint64_t machine_memory() {
  const long pages = ::sysconf(_SC_PHYS_PAGES), size = ::sysconf(_SC_PAGESIZE);
  return pages > 0 && size > 0 ? static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(size) : 0;
}

}  // namespace

TrainPlan plan_sft(const SftOptions& options, const SftReport& report) {
  check_options(options);
  LoadOptions load = options.load;
  load.context = std::max<std::int64_t>(load.context, options.rows.max_tokens);
  Model model = Model::load(options.model, load);
  const SftData data = load_sft_data(options, TextSide::from_gguf(model.file().metadata(), options.pre), report);
  const Trained trained = [&] {
    const StopScope scope(report.progress.stop);
    return Trained(model, options);
  }();
  SftObjective objective(model, trained.parameters(), options.load.threads);
  const auto& examples = data.train.examples;
  const auto units = make_units(examples, options.train.packing, options.rows.max_tokens);
  const auto all = micro_batches(examples, units, options.train);
  const Batches batches(static_cast<std::int64_t>(units.size()), {options.train.micro_batch, options.train.accumulate, options.train.seed});

  TrainPlan p;
  p.steps = options.train.steps > 0 ? options.train.steps : options.train.epochs * batches.steps_per_epoch();
  p.rows = static_cast<std::int64_t>(examples.size());
  p.eval_rows = static_cast<std::int64_t>(data.eval.size());
  for (const Unit& u : units) {
    p.tokens_per_epoch += u.tokens;
    p.trained_tokens_per_epoch += u.trained;
  }
  p.parameters = trained.count();
  p.longest = static_cast<std::int64_t>(all[0].tokens);

  const std::stop_token stop = report.progress.stop;
  measure(objective, all[0], options.train.recompute, stop);  // packs weights and fills the arena
  std::vector<std::pair<double, double>> points;
  std::uint64_t alone = 0;  // the peak of the largest micro-batch with no other before it
  for (const std::size_t i : {std::size_t{0}, all.size() / 2, all.size() - 1}) {
    report.progress.check("measuring");
    double best = measure(objective, all[i], options.train.recompute, stop);
    if (best < 1.0) best = std::min(best, measure(objective, all[i], options.train.recompute, stop));
    points.emplace_back(all[i].tokens, best);
    if (i == 0) alone = peak_resident_bytes();
  }
  const Line line = line_through(points);
  double epoch = 0;
  for (const MicroBatch& m : all) epoch += line.at(m.tokens);
  double eval_seconds = 0;
  if (!data.eval.empty()) {
    const auto& shown = data.eval[0];
    const double begin = now();
    Trainer::evaluate(objective, {&shown, 1}, options.rows.max_tokens, stop);
    double tokens = 0;
    for (const Example& e : data.eval) tokens += static_cast<double>(e.ids.size());
    eval_seconds = (now() - begin) * tokens / static_cast<double>(shown.ids.size());
  }
  const double epochs = static_cast<double>(p.steps) / static_cast<double>(batches.steps_per_epoch());
  const double evaluations =
      data.eval.empty()
          ? 0
          : 1 + std::ceil(options.train.eval_every > 0 ? static_cast<double>(p.steps) / static_cast<double>(options.train.eval_every)
                                                       : epochs);
  p.seconds = epoch * epochs + evaluations * eval_seconds;
  p.step_seconds = epoch / static_cast<double>(batches.steps_per_epoch());
  p.tokens_per_s = static_cast<double>(p.tokens_per_epoch) / epoch;
  const ParameterBytes bytes(trained.parameters(), !data.eval.empty());
  // Beside a micro-batch wait blocks of the sizes of others, up to what the arena keeps: the more others a run has had, the
  // more. One micro-batch's gradient is in the peak already.
  const auto others = static_cast<double>(std::min(static_cast<std::int64_t>(all.size()), p.steps));
  const auto waiting = static_cast<std::uint64_t>((1 - 1 / others) * static_cast<double>(peak_resident_bytes() - alone));
  p.memory = alone + waiting + bytes.optimizer + bytes.best + bytes.floats * sums_at_once(options.train.accumulate);
  p.disk = (options.full ? model.file().total_bytes() : bytes.values) +
           static_cast<std::uint64_t>(std::max<std::int64_t>(1, options.train.keep)) * (3 * bytes.floats + bytes.best);
  p.total_memory = machine_memory();
  return p;
}

}  // namespace hz::train
