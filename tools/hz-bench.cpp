// SPDX-License-Identifier: Apache-2.0
// hz-bench: speed, perplexity, quality, cost. Alone it measures speed with llama-bench's flags and columns.
#include <CLI/App.hpp>
#include <hanzo/hanzo.hpp>
#include <set>
#include <string>

#include "tools/bench/quality.hpp"
#include "tools/bench/speed.hpp"
#include "tools/common/run.hpp"

// Options of the speed tests mean nothing to a subcommand: given before its name, or after it where it knows none such.
static void refuse_stray(const CLI::App& app, const CLI::App& sub) {
  const std::set<std::string> common{"-q", "-v", "--quiet", "--verbose", "--color"};
  for (const CLI::Option* o : app.get_options())
    if (o->count() > 0 && !common.contains(o->get_name()))
      throw hz::Error(hz::ErrorKind::usage, o->get_name() + " is an option of the speed tests, not of " + sub.get_name(), "",
                      "hz-bench " + sub.get_name() + " --help; its options stand behind its name");
}

int main(int argc, char** argv) {
  using namespace hz::tools;
  return run("hz-bench", argc, argv, [](CLI::App& app) -> Action {
    app.description("Measures speed, perplexity and quality of a model.\n\n"
                    "  hz-bench -m model.gguf -p 128,512 -n 64 -d 0,4096 -t 1,2    a grid of speed tests\n"
                    "  hz-bench -m model.gguf --ab ./llama-bench -f text.txt       a peer and us in turn\n"
                    "  hz-bench ppl -m model.gguf -f text.txt                      perplexity");
    auto speed = std::make_shared<SpeedArgs>(app);
    app.fallthrough();  // -q, -v, --color
    const std::vector<Subcommand> subs{add_ppl(app), add_quality(app), add_kl(app), add_choice_test(app), add_batch(app), add_cost(app)};
    app.require_subcommand(0, 1);
    return [=, &app](Console& console) -> int {
      for (const Subcommand& s : subs) {
        if (!s.app->parsed()) continue;
        refuse_stray(app, *s.app);
        return s.action(console);
      }
      return speed->ab.empty() ? run_speed(*speed, console) : run_ab(*speed, console);
    };
  });
}
