// SPDX-License-Identifier: Apache-2.0
// hz-bench: speed as llama-bench reports it, perplexity, and the cost of int8 activations.
#include <fmt/format.h>
#include <hanzo/hanzo.hpp>
#include <nlohmann/json.hpp>

#include "tools/common/meter.hpp"
#include "tools/common/model_options.hpp"
#include "tools/common/prompt.hpp"
#include "tools/common/run.hpp"
#include "tools/hz-bench-speed.hpp"

namespace hz::tools {
namespace {

struct TextArgs {
  std::string file;
  std::int64_t window = 512;
  bool json = false;
  explicit TextArgs(CLI::App& app) {
    app.add_option("-f,--file", file, "text to measure on")->required();
    app.add_option("-c,--ctx,--window", window, "tokens per window")->check(CLI::Range(std::int64_t{4}, std::int64_t{1} << 20))->capture_default_str();
    app.add_flag("--json", json, "one JSON object on stdout");
  }
};

struct Text {
  std::vector<std::int32_t> ids;
  EvaluateOptions options;
};
Text text_of(const TextArgs& args, const ModelArgs& model_args, const Model& model, Console& console) {
  const Generator gen(model, {.pre = model_args.pre});
  Text t;
  t.ids = gen.tokenizer().encode(read_text_file(args.file, console), {.add_special = true, .parse_special = false});
  t.options.window = args.window;
  t.options.ubatch = model_args.ubatch;
  t.options.progress = console.progress();
  if (gen.tokenizer().add_bos() && gen.tokenizer().bos()) t.options.bos = *gen.tokenizer().bos();
  return t;
}

// The model with a context of at least one window.
Model load_for(ModelArgs args, const TextArgs& text, Console& console) {
  args.context = std::max<std::int64_t>(args.context, text.window);
  return load_model(args, console);
}

int run_ppl(const ModelArgs& model_args, const TextArgs& args, Console& console) {
  const Model model = load_for(model_args, args, console);
  const Text t = text_of(args, model_args, model, console);
  const Perplexity p = perplexity(model, t.ids, t.options);
  if (args.json) console.json({{"perplexity", p.value}, {"uncertainty", p.uncertainty}, {"tokens", p.scored}, {"windows", p.windows}, {"window", args.window}});
  else console.print(fmt::format("perplexity {:.4f} +/- {:.4f} over {} tokens in {} windows of {}\n", p.value, p.uncertainty, p.scored, p.windows, args.window));
  return kOk;
}

int run_quality(ModelArgs model_args, const TextArgs& args, Console& console) {
  model_args.activations = "f32";
  const Model base = load_for(model_args, args, console);
  model_args.activations = "int8";
  const Model other = load_for(model_args, args, console);
  const Text t = text_of(args, model_args, base, console);
  const Agreement a = agreement(base, other, t.ids, t.options);
  if (args.json) console.json({{"kl_mean", a.kl_mean}, {"kl_max", a.kl_max}, {"top1_agreement", a.top1}, {"tokens", a.scored}});
  else console.print(fmt::format("int8 against float activations over {} tokens: KL {:.5f} (most {:.4f}), same top token {:.2f} %\n", a.scored, a.kl_mean, a.kl_max, 100 * a.top1));
  return kOk;
}

}  // namespace
}  // namespace hz::tools

int main(int argc, char** argv) {
  using namespace hz::tools;
  return run("hz-bench", argc, argv, [](CLI::App& app) -> Action {
    app.description("Measures speed, perplexity and quality of a model.");
    auto model = std::make_shared<ModelArgs>(app);
    auto speed = std::make_shared<SpeedArgs>(app);
    app.fallthrough();
    CLI::App* ppl = app.add_subcommand("ppl", "perplexity of a text, by llama.cpp's definition");
    CLI::App* quality = app.add_subcommand("quality", "KL divergence and top-1 agreement of int8 against float activations");
    auto ppl_text = std::make_shared<TextArgs>(*ppl), quality_text = std::make_shared<TextArgs>(*quality);
    return [=](Console& console) -> int {
      if (ppl->parsed()) return run_ppl(*model, *ppl_text, console);
      if (quality->parsed()) return run_quality(*model, *quality_text, console);
      return run_speed(*model, *speed, console);
    };
  });
}
