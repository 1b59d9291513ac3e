// SPDX-License-Identifier: Apache-2.0
// hz-train's commands.
#pragma once
#include <hanzo/train/sft.hpp>
#include <memory>
#include <string>
#include <vector>

#include "tools/common/cli.hpp"
#include "tools/common/model_options.hpp"
#include "tools/common/run.hpp"

namespace hz::tools {

// A command's options, and what it does with them.
struct Command {
  CLI::App* app = nullptr;
  Action run;
};
Command add_sft(CLI::App& app);
Command add_plan(CLI::App& app);
Command add_inspect(CLI::App& app);
Command add_eval(CLI::App& app);
Command add_merge(CLI::App& app);
Command add_export(CLI::App& app);
Command add_diff(CLI::App& app);

// How rows are read: shared by every command that reads data.
struct DataArgs {
  std::string file, format = "automatic";
  bool train_on_prompt = false, strict = false;
  explicit DataArgs(CLI::App& app);
  train::DataOptions options(const ModelArgs& model) const;  // rows of at most --ctx tokens, 1024 without it
};

// Everything about a run.
struct SftArgs {
  ModelArgs model;
  DataArgs data;
  std::string eval, out, method = "lora", schedule = "cosine", config;
  std::vector<std::string> rank_pattern, alpha_pattern;
  train::SftOptions o;
  bool json = false, no_recompute = false;
  CLI::App* app;

  // running: with the options that only a run has.
  SftArgs(CLI::App& app, bool running);
  train::SftOptions options(Console& console);  // reads --config first
};

// Options of a TOML file under the names of the flags; flags given on the command line win. Throws bad_file, or usage for
// a name that is no flag.
void apply_config(CLI::App& app, const std::string& file, const Console& console);

// The account of a data file, as notes and warnings.
void tell_data(const std::string& what, const train::DataReport& report, Console& console);

}  // namespace hz::tools
