// SPDX-License-Identifier: Apache-2.0
#include "tools/bench/quality.hpp"

#include <fmt/format.h>

#include <CLI/App.hpp>
#include <algorithm>
#include <cmath>
#include <hanzo/hanzo.hpp>
#include <nlohmann/json.hpp>

#include "tools/common/model_options.hpp"
#include "tools/common/prompt.hpp"
#include "tools/common/run.hpp"

namespace hz::tools {
namespace {

struct TextArgs {
  ModelArgs model;
  LoraArgs lora;
  std::string file;
  std::int64_t window = 512;
  bool json = false;
  explicit TextArgs(CLI::App& app) : model(app), lora(app) {
    app.remove_option(app.get_option("--ctx"));
    add_path(app, "-f,--file", file, "text to measure on")->required();
    app.add_option("-c,--ctx,--window", window, "tokens per window")
        ->check(CLI::Range(std::int64_t{4}, std::int64_t{1} << 20))
        ->capture_default_str();
    app.add_flag("--json", json, "one JSON object on stdout");
  }
};

// A text as windows of one model see it.
struct Text {
  std::vector<std::int32_t> ids;
  EvaluateOptions options;
};
Text tokens_of(const std::string& text, const TextArgs& args, const Model& model, Console& console) {
  const Generator gen(model, {.pre = args.model.pre});
  Text t;
  t.ids = tokens_of_text(gen.tokenizer(), text, console.stop_token());
  t.options.window = args.window;
  t.options.ubatch = args.model.ubatch;
  t.options.progress = console.progress();
  if (gen.tokenizer().add_bos() && gen.tokenizer().bos()) t.options.bos = *gen.tokenizer().bos();
  return t;
}

// The model with a context of one window.
Model load_for(const TextArgs& args, Console& console, const char* activations = nullptr) {
  ModelArgs m = args.model;
  m.context = args.window;
  if (activations != nullptr) m.activations = activations;
  return load_model(m, console, args.lora);
}

int run_ppl(const TextArgs& args, Console& console) {
  const std::string text = read_text_file(args.file, console);
  const Model model = load_for(args, console);
  const Text t = tokens_of(text, args, model, console);
  const Perplexity p = perplexity(model, t.ids, t.options);
  if (args.json)
    console.json(
        {{"perplexity", p.value}, {"uncertainty", p.uncertainty}, {"tokens", p.scored}, {"windows", p.windows}, {"window", args.window}});
  else
    console.print(fmt::format("perplexity {:.4f} +/- {:.4f} over {} tokens in {} windows of {}\n", p.value, p.uncertainty, p.scored,
                              p.windows, args.window));
  return kOk;
}

void print_agreement(const Agreement& a, const char* what, bool as_json, Console& console) {
  if (as_json) console.json({{"kl_mean", a.kl_mean}, {"kl_max", a.kl_max}, {"top1_agreement", a.top1}, {"tokens", a.scored}});
  else
    console.print(fmt::format("{} over {} tokens: KL {:.5f} (most {:.4f}), same top token {:.2f} %\n", what, a.scored, a.kl_mean, a.kl_max,
                              100 * a.top1));
}

int run_quality(const TextArgs& args, Console& console) {
  const std::string text = read_text_file(args.file, console);
  const Model base = load_for(args, console, "f32"), other = load_for(args, console, "int8");
  const Text t = tokens_of(text, args, base, console);
  print_agreement(agreement(base, other, t.ids, t.options), "int8 against float activations", args.json, console);
  return kOk;
}

int run_kl(const TextArgs& args, const std::string& save, const std::string& base, Console& console) {
  if (save.empty() == base.empty())
    throw Error(ErrorKind::usage, "kl needs one of --save and --base", "",
                "first --save FILE with the base model, then --base FILE with the other");
  const std::string text = read_text_file(args.file, console);
  const Model model = load_for(args, console);
  const Text t = tokens_of(text, args, model, console);
  if (!save.empty()) save_base_logits(model, t.ids, save, t.options);
  else print_agreement(agreement_with(base, model, t.ids, t.options), "against the saved base", args.json, console);
  return kOk;
}

struct ChoiceArgs {
  ModelArgs model;
  std::string file;
  bool json = false;
  explicit ChoiceArgs(CLI::App& app) : model(app) {
    add_path(app, "-f,--file", file, "JSONL: {\"prompt\": text, \"choices\": [text, ...], \"answer\": index from 0} a line")->required();
    app.add_flag("--json", json, "one JSON object on stdout");
  }
};

struct Task {
  std::string prompt;
  std::vector<std::string> choices;
  std::size_t answer = 0;
  std::int64_t line = 0;
};
Task task_of(std::string_view text, const std::string& file, std::int64_t line) {
  const auto bad = [&](const std::string& what) {
    return Error(ErrorKind::bad_file, what, fmt::format("{}, line {}", file, line),
                 R"(write {"prompt": "...", "choices": ["a", "b"], "answer": 0})");
  };
  nlohmann::ordered_json row;
  try {
    row = io::parse_json(text);
  } catch (const Error& e) {
    throw bad(e.what());
  }
  if (!row.is_object()) throw bad("the line is no object");
  Task t;
  const auto prompt = row.find("prompt"), choices = row.find("choices"), answer = row.find("answer");
  if (prompt == row.end() || !prompt->is_string()) throw bad("'prompt' is no text");
  if (choices == row.end() || !choices->is_array()) throw bad("'choices' is no list");
  for (const auto& c : *choices) {
    if (!c.is_string()) throw bad("a choice is no text");
    t.choices.push_back(c.get<std::string>());
    if (t.choices.back().empty()) throw bad("a choice is empty");
  }
  if (t.choices.size() < 2) throw bad("fewer than two choices");
  if (answer == row.end() || !answer->is_number_unsigned() || answer->get<std::uint64_t>() >= t.choices.size())
    throw bad("'answer' is no index of a choice");
  t.prompt = prompt->get<std::string>();
  t.answer = answer->get<std::size_t>();
  t.line = line;
  return t;
}

// What is wrong with a task is told with its line.
ChoiceScores scores_of(const Generator& gen, const Task& task, const std::string& file, const std::stop_token& stop) {
  try {
    return score_choices(gen.model(), gen.tokenizer(), task.prompt, task.choices, stop);
  } catch (const Error& e) {
    if (e.kind() != ErrorKind::usage) throw;
    throw Error(ErrorKind::bad_file, e.what(), fmt::format("{}, line {}", file, task.line), e.hint());
  }
}

int run_choice(const ChoiceArgs& args, Console& console) {
  std::vector<Task> tasks;
  io::RowReader reader(args.file, io::RowReader::Layout::lines);
  while (const auto row = reader.next()) tasks.push_back(task_of(row->text, args.file, row->line));
  if (tasks.empty()) throw Error(ErrorKind::bad_file, "no task", args.file, "write one JSON object a line");
  const Generator gen(load_model(args.model, console), {.pre = args.model.pre});
  const Progress progress = console.progress();
  std::int64_t right = 0, right_per_byte = 0;
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    progress.check("answering");
    const ChoiceScores s = scores_of(gen, tasks[i], args.file, progress.stop);
    right += s.best == tasks[i].answer;
    right_per_byte += s.best_per_byte == tasks[i].answer;
    progress("answering", i + 1, tasks.size());
  }
  const auto n = static_cast<double>(tasks.size());
  const auto share = [&](std::int64_t count) { return static_cast<double>(count) / n; };
  const auto error = [&](std::int64_t count) { return std::sqrt(share(count) * (1 - share(count)) / n); };
  if (args.json)
    console.json({{"tasks", tasks.size()},
                  {"accuracy", share(right)},
                  {"stderr", error(right)},
                  {"accuracy_per_byte", share(right_per_byte)},
                  {"stderr_per_byte", error(right_per_byte)}});
  else
    console.print(fmt::format("{} tasks: accuracy {:.2f} % +/- {:.2f}, per byte {:.2f} % +/- {:.2f}\n", tasks.size(), 100 * share(right),
                              100 * error(right), 100 * share(right_per_byte), 100 * error(right_per_byte)));
  return kOk;
}

}  // namespace

Subcommand add_ppl(CLI::App& app) {
  CLI::App* sub = add_command(app, "ppl", "perplexity of a text, by llama.cpp's definition");
  return {sub, [args = std::make_shared<TextArgs>(*sub)](Console& c) { return run_ppl(*args, c); }};
}
Subcommand add_quality(CLI::App& app) {
  CLI::App* sub = add_command(app, "quality", "KL divergence and top-1 agreement of int8 against float activations");
  auto args = std::make_shared<TextArgs>(*sub);
  sub->remove_option(sub->get_option("--activations"));  // both are compared
  return {sub, [args](Console& c) { return run_quality(*args, c); }};
}
Subcommand add_kl(CLI::App& app) {
  CLI::App* sub = add_command(app, "kl", "KL divergence and top-1 agreement against the saved logits of a base model");
  auto args = std::make_shared<TextArgs>(*sub);
  auto save = std::make_shared<std::string>(), base = std::make_shared<std::string>();
  add_path(*sub, "--save", *save, "write this model's logits as the base (4 bytes x vocabulary per scored token)");
  add_path(*sub, "--base", *base, "compare with the logits saved here");
  return {sub, [=](Console& c) { return run_kl(*args, *save, *base, c); }};
}
Subcommand add_choice_test(CLI::App& app) {
  CLI::App* sub = add_command(app, "choice", "accuracy on multiple-choice tasks");
  return {sub, [args = std::make_shared<ChoiceArgs>(*sub)](Console& c) { return run_choice(*args, c); }};
}

}  // namespace hz::tools
