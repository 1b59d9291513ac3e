// SPDX-License-Identifier: Apache-2.0
// run: what every tool's main does: parse, call, print, map errors to exit codes.
#pragma once
#include <functional>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>

#include "tools/common/cli.hpp"
#include "tools/common/console.hpp"
#include "tools/common/exit_code.hpp"

namespace hz::tools {

using Action = std::function<int(Console&)>;

// Adds -q, -v, --color, --version to the parser that `setup` fills, parses, runs the action with a Console whose
// stop token answers to Ctrl-C, and returns the exit code. No exception gets out.
int run_action(std::string_view name, int argc, char** argv, const std::function<Action(CLI::App&)>& setup);

// setup(app) adds the options and returns what to do with them: a function of the Console that returns an exit
// code or nothing.
template <class Setup>
int run(std::string_view name, int argc, char** argv, Setup&& setup) {
  return run_action(name, argc, argv, [&](CLI::App& app) -> Action {
    auto action = setup(app);
    if constexpr (std::is_same_v<std::invoke_result_t<decltype(action)&, Console&>, int>) return action;
    else
      return [action = std::move(action)](Console& console) mutable {
        action(console);
        return static_cast<int>(kOk);
      };
  });
}

// An option that takes one of a few words; a wrong one is answered with the nearest.
CLI::Option* add_choice(CLI::App& app, const std::string& names, std::string& value, std::vector<std::string> choices,
                        const std::string& help);

// An option that names a file or folder; an empty name is a mistake (a variable that was not set), not "none".
CLI::Option* add_path(CLI::App& app, const std::string& names, std::string& value, const std::string& help);

// A command of a tool or of a command.
CLI::App* add_command(CLI::App& app, const std::string& name, const std::string& help);

// A whole number from 0 to 2^64 - 1 that is neither wrapped nor cut.
const CLI::Validator& any_seed();

}  // namespace hz::tools
