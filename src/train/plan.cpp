// SPDX-License-Identifier: Apache-2.0
// Plans: a line through measured times of micro-batches, and the peak of the largest.
#include "hanzo/train/plan.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>

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
double measure(SftObjective& objective, const MicroBatch& m, const std::stop_token& stop) {
  const double begin = now();
  Tape tape;
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

std::uint64_t machine_memory() {
  const long pages = ::sysconf(_SC_PHYS_PAGES), size = ::sysconf(_SC_PAGESIZE);
  return pages > 0 && size > 0 ? static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(size) : 0;
}

}  // namespace

TrainPlan plan_sft(const SftOptions& options, const SftReport& report) {
  LoadOptions load = options.load;
  load.context = std::max<std::int64_t>(load.context, options.rows.max_tokens);
  Model model = Model::load(options.model, load);
  const SftData data = load_sft_data(options, TextSide::from_gguf(model.file().metadata()), report);
  const Adapter adapter = nn::attach_lora(model, options.adapter, Seed{options.train.seed});
  SftObjective objective(model, adapter.parameters(), options.load.threads);
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
  for (const Var& v : adapter.parameters()) p.parameters += v.tensor().numel();
  p.longest = static_cast<std::int64_t>(all[0].tokens);

  const std::stop_token stop = report.progress.stop;
  measure(objective, all[0], stop);  // packs weights and fills the arena
  std::vector<std::pair<double, double>> points;
  for (const std::size_t i : {std::size_t{0}, all.size() / 2, all.size() - 1}) {
    report.progress.check("measuring");
    double best = measure(objective, all[i], stop);
    if (best < 1.0) best = std::min(best, measure(objective, all[i], stop));
    points.emplace_back(all[i].tokens, best);
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
  // Two moments, the gradient's sum and one micro-batch's own (which the peak measured already has), and the best copy.
  const auto of_parameters = static_cast<std::uint64_t>(p.parameters) * 4;
  p.memory = peak_resident_bytes() + of_parameters * (3 + (data.eval.empty() ? 0u : 1u));
  p.disk =
      of_parameters * (1 + static_cast<std::uint64_t>(std::max<std::int64_t>(1, options.train.keep)) * (3 + (data.eval.empty() ? 0u : 1u)));
  p.total_memory = machine_memory();
  return p;
}

}  // namespace hz::train
