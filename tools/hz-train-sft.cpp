// SPDX-License-Identifier: Apache-2.0
// hz-train sft and plan.
#include <fmt/format.h>

#include <CLI/App.hpp>
#include <hanzo/train/plan.hpp>
#include <nlohmann/json.hpp>

#include "tools/common/meter.hpp"
#include "tools/hz-train-mpi.hpp"
#include "tools/hz-train.hpp"

namespace hz::tools {
namespace {

std::string line_of(const train::Progressed& p) {
  const train::MetricRow& r = p.row;
  if (r.eval_loss) return fmt::format("step {}/{}  evaluation loss {:.4f}", r.step, p.total, *r.eval_loss);
  return fmt::format("step {}/{}  loss {:.4f}  mean {:.4f}  lr {:.2e}  grad {:.3f}  {:.0f} tokens/s  ETA {}  {}{}", r.step, p.total, r.loss,
                     p.smoothed, r.lr, r.grad_norm, r.tokens_per_s, time_text(p.eta_s), bytes_text(static_cast<double>(p.memory)),
                     r.skipped > 0 ? fmt::format("  {} steps skipped", r.skipped) : "");
}

nlohmann::json json_of(const train::Progressed& p) {
  const train::MetricRow& r = p.row;
  if (r.eval_loss) return {{"step", r.step}, {"eval_loss", *r.eval_loss}};
  return {{"step", r.step},   {"steps", p.total},         {"loss", r.loss},
          {"lr", r.lr},       {"grad_norm", r.grad_norm}, {"tokens_per_s", r.tokens_per_s},
          {"eta_s", p.eta_s}, {"memory", p.memory}};
}

train::SftReport report_to(Console& console, bool json) {
  train::SftReport r;
  r.progress = console.progress();
  r.note = [&console](const std::string& text) { console.note(text); };
  r.data = [&console](const std::string& what, const train::DataReport& d) { tell_data(what, d, console); };
  r.step = [&console, json](const train::Progressed& p) {
    if (json) {
      console.json(json_of(p));
      console.flush();
    }
    if (p.row.eval_loss) console.note(line_of(p));
    else console.status(line_of(p));
  };
  return r;
}

int run_sft(SftArgs& args, Console& console) {
  const train::SftOptions options = args.options(console);
  const auto peers = launched_peers();
  const bool silent = peers != nullptr && peers->rank() != 0;
  train::SftResult r;
  try {
    r = train::sft(options, silent ? train::SftReport{} : report_to(console, args.json), peers.get());
  } catch (const Error& e) {
    if (peers != nullptr) console.error(e);  // leaving ends all processes at once
    throw;
  }
  if (silent) return r.train.interrupted ? kInterrupted : kOk;
  if (r.finished_before) {
    console.note(fmt::format("the run in {} is finished; nothing was done", args.out));
    if (args.json) console.json({{"finished", true}, {"done", false}});
    return kOk;
  }
  if (r.train.interrupted) {
    console.note(fmt::format("stopped at step {} of {}; --resume goes on from there", r.train.steps, r.train.total));
    return kInterrupted;
  }
  std::string text = fmt::format("{} steps{}, loss {:.4f} to {:.4f}", r.train.steps, r.train.early ? " (stopped early)" : "",
                                 r.train.first_loss, r.train.last_loss);
  if (r.train.first_eval)
    text += fmt::format("; evaluation {:.4f} to {:.4f}, best {:.4f} at step {}", *r.train.first_eval, *r.train.last_eval,
                        *r.train.best_eval, r.train.best_step);
  console.note(text);
  if (r.train.skipped > 0) console.warn(fmt::format("{} steps were skipped: their gradients were not finite", r.train.skipped));
  if (options.full) console.note(fmt::format("model in {0}; use it with: hz-run -m {0}", r.file.string()));
  else console.note(fmt::format("adapter in {}; use it with: hz-run -m {} --lora {}", args.out, args.model.file, args.out));
  if (args.json)
    console.json({{"finished", true},
                  {"done", true},
                  {"steps", r.train.steps},
                  {"first_loss", r.train.first_loss},
                  {"last_loss", r.train.last_loss},
                  {options.full ? "model" : "adapter", options.full ? r.file.string() : args.out},
                  {options.full ? "model_sha256" : "adapter_sha256", r.sha256},
                  {"skipped_steps", r.train.skipped},
                  {"parameters", r.parameters}});
  return kOk;
}

int run_plan(SftArgs& args, Console& console) {
  const train::SftOptions options = args.options(console);
  const train::TrainPlan p = train::plan_sft(options, report_to(console, false));
  if (args.json) {
    console.json({{"steps", p.steps},
                  {"rows", p.rows},
                  {"eval_rows", p.eval_rows},
                  {"tokens_per_epoch", p.tokens_per_epoch},
                  {"trained_tokens_per_epoch", p.trained_tokens_per_epoch},
                  {"parameters", p.parameters},
                  {"longest_micro_batch", p.longest},
                  {"seconds", p.seconds},
                  {"step_seconds", p.step_seconds},
                  {"tokens_per_s", p.tokens_per_s},
                  {"memory", p.memory},
                  {"disk", p.disk}});
    return kOk;
  }
  console.print(fmt::format(
      "steps      {}\nrows       {} to train on, {} to evaluate with\ntokens     {} an epoch, {} of them trained; largest micro-batch {}\n",
      p.steps, p.rows, p.eval_rows, p.tokens_per_epoch, p.trained_tokens_per_epoch, p.longest));
  console.print(fmt::format("trained    {} parameters\ntime       {} ({:.2f} s a step, {:.0f} tokens/s)\nmemory     {}\ndisk       {}\n",
                            p.parameters, time_text(p.seconds), p.step_seconds, p.tokens_per_s, bytes_text(static_cast<double>(p.memory)),
                            bytes_text(static_cast<double>(p.disk))));
  if (p.total_memory > 0 && p.memory > p.total_memory)
    console.warn(fmt::format("this machine has {} of memory: use a smaller --micro-batch or --ctx",
                             bytes_text(static_cast<double>(p.total_memory))));
  return kOk;
}

}  // namespace

void tell_data(const std::string& what, const train::DataReport& d, Console& console) {
  console.note(fmt::format("{}: {} rows, {} tokens, {} of them trained", what, d.rows, d.tokens, d.trained_tokens));
  const auto tell = [&](const train::RowProblems& p, const char* before, const char* after) {
    if (p.count == 0) return;
    constexpr std::size_t kShown = 5;
    std::string lines;
    for (std::size_t i = 0; i < std::min(kShown, p.listed.size()); ++i)
      lines += fmt::format("\n  line {}: {}", p.listed[i].line, p.listed[i].what);
    const auto more = p.count - static_cast<std::int64_t>(std::min(kShown, p.listed.size()));
    console.warn(fmt::format("{}: {} row{} {}{} {}{}{}", what, p.count, p.count == 1 ? "" : "s", before,
                             p.count == 1 ? "was" : "were", after, lines,
                             more > 0 ? fmt::format("\n  and {} more", more) : ""));
  };
  tell(d.bad, "could not be read and ", "left out");
  tell(d.untrained, "would teach nothing and ", "left out");
  tell(d.truncated, "", "cut at the end (--ctx)");
}

Command add_sft(CLI::App& app) {
  CLI::App* c = add_command(app, "sft", "fine-tune on rows of text, prompts and answers, or conversations");
  auto args = std::make_shared<SftArgs>(*c, true);
  return {c, [args](Console& console) { return run_sft(*args, console); }};
}

Command add_plan(CLI::App& app) {
  CLI::App* c = add_command(app, "plan", "tell what a run would take in time, memory and disk");
  auto args = std::make_shared<SftArgs>(*c, false);
  return {c, [args](Console& console) { return run_plan(*args, console); }};
}

}  // namespace hz::tools
