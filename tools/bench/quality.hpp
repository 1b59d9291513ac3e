// SPDX-License-Identifier: Apache-2.0
// Subcommands of hz-bench that measure what a model gives rather than how fast: ppl, quality, kl, choice.
#pragma once
#include <functional>

#include "tools/common/cli.hpp"
#include "tools/common/console.hpp"

namespace hz::tools {

// A subcommand: what to run when it was named.
struct Subcommand {
  CLI::App* app = nullptr;
  std::function<int(Console&)> action;
};
Subcommand add_ppl(CLI::App& app);
Subcommand add_quality(CLI::App& app);
Subcommand add_kl(CLI::App& app);
Subcommand add_choice_test(CLI::App& app);
Subcommand add_batch(CLI::App& app);
Subcommand add_cost(CLI::App& app);

}  // namespace hz::tools
