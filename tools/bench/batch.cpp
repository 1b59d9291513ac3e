// SPDX-License-Identifier: Apache-2.0
// hz-bench batch: many sequences evaluated together, as llama-batched-bench does: speed of prompt and generation by
// number of sequences.
#include <fmt/format.h>

#include <CLI/App.hpp>
#include <algorithm>
#include <hanzo/hanzo.hpp>
#include <nlohmann/json.hpp>

#include "tools/bench/grid.hpp"
#include "tools/bench/plot.hpp"
#include "tools/bench/quality.hpp"
#include "tools/bench/report.hpp"
#include "tools/bench/speed.hpp"
#include "tools/bench/stats.hpp"
#include "tools/common/model_options.hpp"
#include "tools/common/run.hpp"

namespace hz::tools {
namespace {

struct BatchArgs {
  ModelArgs model;
  std::string prompts = "128", generations = "64", sequences = "1,2,4,8";
  ReportArgs report;
  int repetitions = 3;
  explicit BatchArgs(CLI::App& app) : model(app) {
    app.remove_option(app.get_option("--ctx"));  // what the sequences need
    add_list(app, "--npp", prompts, "prompt tokens of each sequence, a list");
    add_list(app, "--ntg", generations, "generated tokens of each sequence, a list");
    add_list(app, "--npl", sequences, "sequences evaluated together, a list");
    app.add_option("-r,--repetitions", repetitions, "runs; the fastest counts")->check(CLI::Range(1, 1000))->capture_default_str();
    report.add_to(app, "draw speed against sequences into this SVG file");
  }
};

struct Times {
  double prompt = 0, generation = 0;
};

// All sequences in one batch a step; prompts in chunks of at most ubatch tokens over all sequences.
Times run_once(const Model& model, std::int64_t count, std::int64_t prompt, std::int64_t generate, std::int64_t ubatch,
               const std::stop_token& stop) {
  std::vector<model::KvSequence> kv;
  std::vector<std::vector<std::int32_t>> ids;
  for (std::int64_t i = 0; i < count; ++i) {
    kv.push_back(model.new_sequence());
    ids.push_back(random_ids(prompt + generate, model.hparams().vocab, static_cast<std::uint64_t>(i)));
  }
  const auto step = [&](std::int64_t at, std::int64_t tokens, LogitRows rows) {
    std::vector<SequenceChunk> chunks;
    for (std::size_t s = 0; s < ids.size(); ++s)
      chunks.push_back({&kv[s], std::span(ids[s]).subspan(static_cast<std::size_t>(at), static_cast<std::size_t>(tokens))});
    model.forward(chunks, rows, stop);
  };
  Times t;
  const std::int64_t part = std::max<std::int64_t>(1, ubatch / count);
  auto begin = Clock::now();
  for (std::int64_t at = 0; at < prompt; at += part)
    step(at, std::min(part, prompt - at), at + part >= prompt ? LogitRows::last : LogitRows::none);
  t.prompt = since(begin);
  begin = Clock::now();
  for (std::int64_t at = prompt; at < prompt + generate; ++at) step(at, 1, LogitRows::last);
  t.generation = since(begin);
  return t;
}

// The columns of llama-batched-bench.
Layout batch_layout() {
  return {
      .table = "hz_bench_batch",
      .columns = {number_column("PP", "pp", 0), number_column("TG", "tg", 0), number_column("B", "pl", 0), number_column("N_KV", "n_kv", 0),
                  number_column("T_PP s", "t_pp", 3), number_column("S_PP t/s", "speed_pp", 1), number_column("T_TG s", "t_tg", 3),
                  number_column("S_TG t/s", "speed_tg", 1), number_column("T s", "t", 3), number_column("S t/s", "speed", 1)},
      .below = ""};
}

int run_batch(const BatchArgs& args, Console& console) {
  args.report.check();
  const auto counts = parse_grid("--npl", args.sequences, 1, 4096), prompts = parse_grid("--npp", args.prompts, 1, std::int64_t{1} << 24),
             generations = parse_grid("--ntg", args.generations, 1, std::int64_t{1} << 24);
  ModelArgs sized = args.model;
  sized.context = *std::max_element(prompts.begin(), prompts.end()) + *std::max_element(generations.begin(), generations.end());
  const Model model = load_model(sized, console);
  const Progress progress = console.progress();
  nlohmann::json records = nlohmann::json::array();
  for (const auto prompt : prompts)
    for (const auto generate : generations)
      for (const auto count : counts) {
        Times best{1e30, 1e30};
        for (int r = 0; r < args.repetitions; ++r) {
          const Times t = run_once(model, count, prompt, generate, args.model.ubatch, progress.stop);
          best = {std::min(best.prompt, t.prompt), std::min(best.generation, t.generation)};
        }
        const auto pp = static_cast<double>(prompt * count), tg = static_cast<double>(generate * count);
        records.push_back({{"pp", prompt},
                           {"tg", generate},
                           {"pl", count},
                           {"n_kv", (prompt + generate) * count},
                           {"t_pp", best.prompt},
                           {"speed_pp", pp / best.prompt},
                           {"t_tg", best.generation},
                           {"speed_tg", tg / best.generation},
                           {"t", best.prompt + best.generation},
                           {"speed", (pp + tg) / (best.prompt + best.generation)}});
      }
  print_records(records, args.report, batch_layout(), console);
  if (!args.report.plot.empty()) write_batch_plot(records, args.report.plot);
  return kOk;
}

}  // namespace

Subcommand add_batch(CLI::App& app) {
  CLI::App* sub = add_command(app, "batch", "many sequences together: speed by number of sequences");
  return {sub, [args = std::make_shared<BatchArgs>(*sub)](Console& c) { return run_batch(*args, c); }};
}

}  // namespace hz::tools
