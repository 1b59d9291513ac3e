// SPDX-License-Identifier: Apache-2.0
// Flags of the speed tests and the grid that they span.
#include <CLI/App.hpp>
#include <hanzo/core/error.hpp>
#include <hanzo/core/parallel.hpp>

#include "tools/bench/speed.hpp"
#include "tools/common/model_options.hpp"
#include "tools/common/run.hpp"

namespace hz::tools {
namespace {

constexpr std::int64_t kMostTokens = std::int64_t{1} << 24, kMostUbatch = std::int64_t{1} << 20;

}  // namespace

SpeedArgs::SpeedArgs(CLI::App& app) {
  app.add_option("-m,--model", models, "GGUF file; may be given several times")->allow_extra_args(false);
  add_list(app, "-p,--n-prompt", prompts, "prompt tokens, a list; 0: no prompt test");
  add_list(app, "-n,--n-gen", generations, "generated tokens, a list; 0: no generation test");
  app.add_option("--pg,--n-pg", pairs, "prompt and generated tokens measured as one: 512,128")->allow_extra_args(false);
  add_list(app, "-d,--n-depth", depths, "tokens already in the context, a list");
  add_list(app, "-t,--threads", threads, "threads, a list; 0: the physical cores that the process may use");
  add_list(app, "-b,--batch,--batch-size", batches, "prompt tokens handed over at a time, a list; above --ub it changes nothing");
  add_list(app, "--ub,--ubatch,--ubatch-size", ubatches, "prompt tokens evaluated at a time, a list");
  add_list(app, "--kv,--ctk,--cache-type-k", kvs, "element types of the KV cache, a list of f16|f32|q8_0");
  add_list(app, "--ctv,--cache-type-v", value_kvs, "if given, the same as --kv: K and V are kept alike");
  add_choice(app, "--activations", activations, {"int8", "f32"}, "how products with quantized weights read their input");
  app.add_option("--device", device, "backend")->capture_default_str();
  add_pack(app, pack);
  app.add_flag("--no-mmap", no_mmap, "read the file into memory instead of mapping it");
  app.add_option("-r,--repetitions", repetitions, "measured runs of each test")->check(CLI::Range(1, 10000))->capture_default_str();
  app.add_flag("--no-warmup", no_warmup, "no unmeasured run first");
  app.add_option("--delay", delay, "seconds of rest before each test")->check(CLI::Range(0.0, 3600.0))->capture_default_str();
  report.add_to(app, "draw speed against depth (or prompt length) into this SVG file");
  app.add_flag("--check", check, "a column with the hash of the logits of fixed ids: the same for every row");
  add_path(app, "--ab", ab, "path of a llama-bench to measure in turn with us; needs -f")
      ->excludes("--plot")
      ->excludes("--check")
      ->excludes("--delay");
  add_path(app, "-f,--file", text, "text on which both must have the same perplexity within 1 % before --ab measures")->needs("--ab");
}

std::vector<Cell> cells_of(const SpeedArgs& args) {
  if (args.models.empty()) throw Error(ErrorKind::usage, "no model given", "", "name a GGUF file with -m");
  std::vector<PromptGen> tests;
  for (const auto p : parse_grid("-p", args.prompts, 0, kMostTokens))
    if (p > 0) tests.push_back({p, 0});
  for (const auto n : parse_grid("-n", args.generations, 0, kMostTokens))
    if (n > 0) tests.push_back({0, n});
  for (const PromptGen& pair : parse_pairs("--pg", args.pairs)) tests.push_back(pair);
  if (tests.empty()) throw Error(ErrorKind::usage, "nothing to measure: -p and -n are 0", "", "give -p TOKENS or -n TOKENS");
  if (!args.value_kvs.empty() && args.value_kvs != args.kvs)
    throw Error(ErrorKind::usage, "K and V are kept alike here, --ctk and --ctv differ", "", "give one of them");
  std::vector<Cell> cells;
  for (const std::string& model : args.models)
    for (const std::string& kv : parse_words("--kv", args.kvs, {"f16", "f32", "q8_0"}))
      for (const auto threads : parse_grid("-t", args.threads, 0, 4096))
        for (const auto batch : parse_grid("-b", args.batches, 1, kMostTokens))
          for (const auto ubatch : parse_grid("--ub", args.ubatches, 1, kMostUbatch))
            for (const auto depth : parse_grid("-d", args.depths, 0, kMostTokens))
              for (const PromptGen& test : tests)
                cells.push_back({model, kv, threads > 0 ? threads : default_threads(), batch, ubatch, depth, test});
  return cells;
}

}  // namespace hz::tools
