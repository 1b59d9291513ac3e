// SPDX-License-Identifier: Apache-2.0
// hz-train: fine-tunes a model on the bytes that serve it.
#include "tools/hz-train.hpp"

#include <CLI/App.hpp>

int main(int argc, char** argv) {
  using namespace hz::tools;
  return run("hz-train", argc, argv, [](CLI::App& app) -> Action {
    app.description("Fine-tunes a model from a GGUF file, and looks after data and adapters.");
    app.require_subcommand(1);
    app.fallthrough();
    const std::vector<Command> commands{add_sft(app),   add_plan(app),   add_inspect(app), add_eval(app),
                                        add_merge(app), add_export(app), add_diff(app)};
    return [commands](Console& console) {
      for (const Command& c : commands)
        if (c.app->parsed()) return c.run(console);
      return static_cast<int>(kUsage);
    };
  });
}
