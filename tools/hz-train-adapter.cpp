// SPDX-License-Identifier: Apache-2.0
// hz-train eval, merge, export, diff: what is done with an adapter.
#include <fmt/format.h>

#include <CLI/App.hpp>
#include <cmath>
#include <filesystem>
#include <hanzo/engine/evaluate.hpp>
#include <hanzo/train/adapter_tools.hpp>
#include <nlohmann/json.hpp>

#include "tools/common/prompt.hpp"
#include "tools/hz-train.hpp"

namespace hz::tools {
namespace {

struct AdapterArgs {
  ModelArgs model;
  std::string adapter, out;
  bool force = false, json = false;

  explicit AdapterArgs(CLI::App& app) : model(app) {
    app.add_flag("--force", force, "go on where it is refused");
    app.add_flag("--json", json, "one JSON object on stdout");
  }
};

struct EvalArgs : AdapterArgs {
  DataArgs data;
  explicit EvalArgs(CLI::App& app) : AdapterArgs(app), data(app) {
    app.add_option("--lora", adapter, "adapter: a folder or GGUF file; without it the base alone");
  }
};

int eval(EvalArgs& args, Console& console) {
  if (args.data.file.empty()) throw Error(ErrorKind::usage, "no data given", "", "name a file with --data");
  train::DataOptions options = args.data.options(args.model);
  ModelArgs model_args = args.model;
  model_args.context = options.max_tokens;
  Model model = load_model(model_args, console);
  options.progress = console.progress();
  const auto text = train::TextSide::from_gguf(model.file().metadata(), args.model.pre);
  const train::Dataset data = train::load_dataset(args.data.file, text, options);
  tell_data(args.data.file, data.report, console);
  if (!args.adapter.empty()) model = model.with_adapter(Adapter::load(args.adapter, model, args.force));
  train::SftObjective objective(model, {}, args.model.threads);
  const double loss = train::Trainer::evaluate(objective, data.examples, options.max_tokens, console.stop_token());
  if (args.json)
    console.json(
        {{"loss", loss}, {"perplexity", std::exp(loss)}, {"rows", data.examples.size()}, {"trained_tokens", data.report.trained_tokens}});
  else
    console.print(fmt::format("loss {:.6f}, perplexity {:.4f} over {} trained tokens of {} rows\n", loss, std::exp(loss),
                              data.report.trained_tokens, data.examples.size()));
  return kOk;
}

struct MergeArgs : AdapterArgs {
  std::string text;
  double least = 0.9;
  explicit MergeArgs(CLI::App& app) : AdapterArgs(app) {
    app.add_option("--lora", adapter, "adapter: a folder or GGUF file")->required();
    app.add_option("-o,--out", out, "GGUF file to write")->required();
    app.add_option("--least", least, "least share of the adapter's change that must survive the rounding")->check(CLI::Range(0.0, 1.0));
    app.add_option("--text", text, "text to measure the merged model on against base and adapter side by side");
  }
};

// What is written takes the place of a file of that name: never of the base.
void spare_base(const AdapterArgs& args) {
  std::error_code error;  // a path that is not there is no base
  if (std::filesystem::equivalent(args.out, args.model.file, error))
    throw Error(ErrorKind::usage, "the result would replace the base", args.out, "another name with -o");
}

int merge(const MergeArgs& args, Console& console) {
  spare_base(args);
  const Model model = load_model(args.model, console);
  const Adapter adapter = Adapter::load(args.adapter, model, args.force);
  const train::MergeReport report =
      train::merge_adapter(model, adapter, args.out, {.least_survival = args.least, .force = args.force, .progress = console.progress()});
  nlohmann::json tensors = nlohmann::json::array();
  for (const train::MergedTensor& t : report.tensors) {
    tensors.push_back({{"name", t.name}, {"type", t.type}, {"change", t.change}, {"survival", t.survival}});
    console.detail(
        fmt::format("{} {}: changed by {:.4f} of its norm, {:.2f} % of that survives", t.name, t.type, t.change, 100 * t.survival));
  }
  nlohmann::json out{{"out", args.out}, {"survival", report.survival}, {"tensors", tensors}};
  std::string line = fmt::format("{}: {} layers merged, {:.2f} % of the adapter's change survives", args.out, report.tensors.size(),
                                 100 * report.survival);
  if (!args.text.empty()) {
    ModelArgs merged_args = args.model;
    merged_args.file = args.out;
    const Model merged = load_model(merged_args, console);
    const auto text = train::TextSide::from_gguf(model.file().metadata(), args.model.pre);
    const Agreement a = agreement(model.with_adapter(adapter), merged, text.tokenizer->encode(read_text_file(args.text, console)),
                                  {.progress = console.progress()});
    out.update({{"kl", a.kl_mean}, {"top1_agreement", a.top1}});
    line += fmt::format("; KL {:.5f}, same top token {:.2f} % over {} tokens", a.kl_mean, 100 * a.top1, a.scored);
  }
  if (args.json) console.json(out);
  else console.print(line + "\n");
  return kOk;
}

struct ExportArgs : AdapterArgs {
  std::string to = "automatic";
  explicit ExportArgs(CLI::App& app) : AdapterArgs(app) {
    app.add_option("--lora", adapter, "adapter: a folder or GGUF file")->required();
    app.add_option("-o,--out", out, "GGUF file or folder to write")->required();
    add_choice(app, "--to", to, {"automatic", "peft", "gguf"}, "what to write; automatic: gguf by the extension .gguf, else a PEFT folder");
  }
};

int export_adapter(const ExportArgs& args, Console& console) {
  spare_base(args);
  const Model model = load_model(args.model, console);
  const Adapter adapter = Adapter::load(args.adapter, model, args.force);
  const bool gguf = args.to == "gguf" || (args.to == "automatic" && args.out.ends_with(".gguf"));
  if (gguf) train::save_gguf_lora(adapter, model, args.out);
  else adapter.save(args.out);
  if (args.json) console.json({{"out", args.out}, {"to", gguf ? "gguf" : "peft"}, {"layers", adapter.targets().size()}});
  else console.print(fmt::format("{}: {} layers as {}\n", args.out, adapter.targets().size(), gguf ? "a GGUF LoRA" : "a PEFT folder"));
  return kOk;
}

struct DiffArgs : AdapterArgs {
  std::string other;
  explicit DiffArgs(CLI::App& app) : AdapterArgs(app) {
    app.add_option("A", adapter, "adapter")->required();
    app.add_option("B", other, "another one of the same base")->required();
  }
};

int diff(const DiffArgs& args, Console& console) {
  const Model model = load_model(args.model, console);
  const auto all = train::compare_adapters(Adapter::load(args.adapter, model, args.force), Adapter::load(args.other, model, args.force));
  bool same = true;
  double difference = 0, change = 0;
  nlohmann::json layers = nlohmann::json::array();
  for (const train::AdapterDifference& d : all) {
    same = same && d.same_bits;
    difference += std::pow(d.relative * (d.change_a > 0 ? d.change_a : d.change_b), 2);
    change += d.change_a * d.change_a;
    if (args.json)
      layers.push_back(
          {{"layer", d.module}, {"change_a", d.change_a}, {"change_b", d.change_b}, {"relative", d.relative}, {"same_bits", d.same_bits}});
    else if (!d.same_bits)
      console.print(
          fmt::format("{:<28} |A| {:<10.5g} |B| {:<10.5g} difference {:.3g} of |A|\n", d.module, d.change_a, d.change_b, d.relative));
  }
  const double relative = change > 0 ? std::sqrt(difference / change) : 0;
  if (args.json) console.json({{"same_bits", same}, {"relative", relative}, {"layers", layers}});
  else
    console.print(same ? fmt::format("the same bits in {} layers\n", all.size())
                       : fmt::format("all: difference {:.3g} of |A|\n", relative));
  return same ? kOk : kCheckFailed;
}

template <class Args, class F>
Command command(CLI::App& app, const char* name, const char* help, F run) {
  CLI::App* c = add_command(app, name, help);
  auto args = std::make_shared<Args>(*c);
  return {c, [args, run](Console& console) { return run(*args, console); }};
}

}  // namespace

Command add_eval(CLI::App& app) { return command<EvalArgs>(app, "eval", "loss and perplexity on rows, with or without an adapter", eval); }
Command add_merge(CLI::App& app) {
  return command<MergeArgs>(app, "merge", "write a model with an adapter's change in its weights", merge);
}
Command add_export(CLI::App& app) {
  return command<ExportArgs>(app, "export", "write an adapter as a PEFT folder or a GGUF LoRA", export_adapter);
}
Command add_diff(CLI::App& app) { return command<DiffArgs>(app, "diff", "compare two adapters; exit code 5 when they differ", diff); }

}  // namespace hz::tools
