// SPDX-License-Identifier: Apache-2.0
// Speed tests of hz-bench: a grid of models, prompts, generations, depths, threads and cache kinds.
#pragma once
#include <algorithm>
#include <cstdint>
#include <hanzo/model/model.hpp>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "tools/bench/grid.hpp"
#include "tools/bench/report.hpp"
#include "tools/common/cli.hpp"
#include "tools/common/console.hpp"

namespace hz::tools {

// Flags and defaults as llama-bench has them.
struct SpeedArgs {
  std::vector<std::string> models;
  std::string prompts = "512", generations = "128", depths = "0", threads = "0", batches = "2048", ubatches = "512", kvs = "f16";
  std::string value_kvs;  // as kvs, or empty: K and V are kept alike
  std::vector<std::string> pairs;
  std::string device = "cpu", activations = "int8", pack = "auto", ab, text;
  ReportArgs report;
  int repetitions = 5;
  double delay = 0;  // seconds before each test
  bool no_warmup = false, no_mmap = false, check = false;
  explicit SpeedArgs(CLI::App& app);
};

// One combination of the grid.
struct Cell {
  std::string model, kv;
  std::int64_t threads = 0, batch = 0, ubatch = 0, depth = 0;
  std::int64_t step() const { return std::min(batch, ubatch); }  // prompt tokens evaluated at a time
  PromptGen test;  // both at once for -pg, else one is 0
};
std::vector<Cell> cells_of(const SpeedArgs& args);
std::string test_name(const Cell& cell);

// Token ids below `vocab`, the same at every run.
std::vector<std::int32_t> random_ids(std::int64_t n, std::int64_t vocab, std::uint64_t stream = 0);

// One run of a cell: seconds in all, to the first logits, and of each generated token.
struct Sample {
  double seconds = 0, first_token = 0;
  std::vector<double> token_seconds;
};
// Measures one cell on a loaded model, one run a call. The context up to `depth` is evaluated once.
class CellRunner {
 public:
  CellRunner(const Model& model, const Cell& cell);
  // Evaluates what is missing of the context up to `depth`; run() does it too, without telling how far it is.
  void fill(const Progress& progress);
  Sample run(std::stop_token stop);

 private:
  const Model& model_;
  Cell cell_;
  std::vector<std::int32_t> ids_;
  model::KvSequence kv_;
};

// A model as a cell needs it, loaded once for neighbouring cells that need the same.
class ModelCache {
 public:
  ModelCache(const SpeedArgs& args, Console& console, std::int64_t context) : args_(args), console_(console), context_(context) {}
  const Model& get(const Cell& cell);
  double load_seconds() const { return load_seconds_; }

 private:
  const SpeedArgs& args_;
  Console& console_;
  std::int64_t context_;
  std::string key_;
  std::vector<Model> model_;  // none or one
  double load_seconds_ = 0;
};
std::int64_t context_of(const std::vector<Cell>& cells);

int run_speed(const SpeedArgs& args, Console& console);
// Peer and us in turn, run by run (--ab).
int run_ab(const SpeedArgs& args, Console& console);

}  // namespace hz::tools
