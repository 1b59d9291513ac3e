// SPDX-License-Identifier: Apache-2.0
// Speed tests of hz-bench: prompt and generation, in llama-bench's columns and formats.
#pragma once
#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>

#include "tools/common/console.hpp"
#include "tools/common/model_options.hpp"

namespace hz::tools {

struct SpeedArgs {
  std::int64_t prompt = 512, generate = 128, depth = 0;
  int repetitions = 5;
  bool no_warmup = false;
  std::string output = "md";
  explicit SpeedArgs(CLI::App& app);
};

int run_speed(const ModelArgs& model, const SpeedArgs& args, Console& console);

}  // namespace hz::tools
