// SPDX-License-Identifier: Apache-2.0
// The options of a training run.
#include <fmt/format.h>

#include <CLI/App.hpp>
#include <charconv>

#include "tools/common/run.hpp"
#include "tools/hz-train.hpp"

namespace hz::tools {
namespace {

constexpr std::int64_t kContext = 1024;
const CLI::Range kCount(std::int64_t{1}, std::int64_t{1} << 40), kFromZero(std::int64_t{0}, std::int64_t{1} << 40);

void add_adapter_options(CLI::App& app, SftArgs& a) {
  add_choice(app, "--method", a.method, {"lora", "rslora", "dora", "full"}, "kind of adapter; full: train the model's own float weights")
      ->group("Adapter");
  app.add_option("--rank", a.o.adapter.rank, "rank of the adapter")->check(CLI::Range(1, 4096))->group("Adapter");
  app.add_option("--alpha", a.o.adapter.alpha, "its scale times its rank (rslora: times the root of it)")->group("Adapter");
  app.add_option("--targets", a.o.adapter.targets, "all-linear, names of layers (attn_q,ffn_up or q_proj,up_proj), or re:REGEX")
      ->group("Adapter");
  app.add_option("--rank-pattern", a.rank_pattern, "NAME=RANK for layers of a name")->group("Adapter");
  app.add_option("--alpha-pattern", a.alpha_pattern, "NAME=ALPHA for layers of a name")->group("Adapter");
  app.add_option("--dropout", a.o.adapter.dropout, "of the adapter's input")->group("Adapter");
  app.add_option("--lora-plus", a.o.train.lora_plus, "how many times as fast B learns as A")->group("Adapter");
}

void add_optimizer_options(CLI::App& app, SftArgs& a) {
  train::TrainOptions& t = a.o.train;
  app.add_option("--lr", t.lr, "learning rate")->group("Optimizer");
  add_choice(app, "--schedule", a.schedule, {"constant", "linear", "cosine", "wsd", "inverse-sqrt"}, "course of the learning rate")
      ->group("Optimizer");
  app.add_option("--warmup", t.warmup, "steps of warm-up; below 1 a share of all")->group("Optimizer");
  app.add_option("--min-lr-ratio", t.min_lr_ratio, "least share of the rate (cosine, wsd)")
      ->group("Optimizer");
  app.add_option("--weight-decay", t.weight_decay, "decoupled weight decay")->group("Optimizer");
  app.add_option("--beta1", t.beta1, "AdamW")->group("Optimizer");
  app.add_option("--beta2", t.beta2, "AdamW")->group("Optimizer");
  app.add_option("--eps", t.eps, "AdamW")->group("Optimizer");
  app.add_option("--clip", t.clip, "largest norm of the gradient; 0: no clipping")->group("Optimizer");
}

void add_length_options(CLI::App& app, SftArgs& a) {
  train::TrainOptions& t = a.o.train;
  CLI::Option* epochs = app.add_option("--epochs", t.epochs, "passes over the data")->check(kCount)->group("Run");
  app.add_option("--steps", t.steps, "optimizer steps, in place of --epochs")->check(kCount)->excludes(epochs)->group("Run");
  app.add_option("--micro-batch", t.micro_batch, "rows evaluated at once")->check(kCount)->group("Run");
  app.add_option("--accumulate", t.accumulate, "micro-batches of an optimizer step")->check(kCount)->group("Run");
  app.add_flag("--no-recompute", a.no_recompute, "keep what each layer computed for the way back: faster, more memory, the same bits")
      ->group("Run");
  app.add_flag("--packing", t.packing, "fill micro-batches up to --ctx tokens with several rows; none sees another")->group("Run");
  app.add_option("--seed", t.seed, "of the adapter, the order of rows, dropout and --eval-split")->check(any_seed())->group("Run");
  app.add_option("--eval", a.eval, "rows to evaluate on")->group("Evaluation");
  app.add_option("--eval-split", a.o.eval_split, "or this share of the data's rows, kept out of training")
      ->group("Evaluation");
  app.add_option("--eval-every", t.eval_every, "steps between evaluations; 0: after each epoch")->check(kFromZero)->group("Evaluation");
}

void add_run_options(CLI::App& app, SftArgs& a) {
  train::TrainOptions& t = a.o.train;
  app.add_flag("--early-stop{3}", t.early_stop, "end the run after N evaluations without a lower loss (--early-stop=N)")
      ->group("Evaluation");
  app.add_flag("--keep-best", t.keep_best, "end with the adapter of the lowest evaluation")->group("Evaluation");
  app.add_option("-o,--out", a.out, "folder for the adapter, metrics and checkpoints")->group("Run");
  app.add_flag("--resume", a.o.resume, "go on with the run in that folder")->group("Run");
  app.add_option("--checkpoint-every", t.checkpoint_every, "steps between checkpoints; 0: after each epoch")
      ->check(kFromZero)
      ->group("Run");
  app.add_option("--keep", t.keep, "checkpoints kept")->check(kCount)->group("Run");
}

// Options of adapters, which mean nothing where the model's own weights are trained.
void refuse_adapter_options(const CLI::App& app) {
  for (const char* name : {"--rank", "--alpha", "--targets", "--rank-pattern", "--alpha-pattern", "--dropout", "--lora-plus"})
    if (app.get_option(name)->count() > 0)
      throw Error(ErrorKind::usage, fmt::format("{} is of an adapter, and --method full trains none", name), "",
                  fmt::format("leave out {}, or --method lora", name));
}

// "attn_q=8" entries into a map.
template <class T>
void read_patterns(const std::vector<std::string>& entries, const char* flag, std::map<std::string, T>& map) {
  for (const std::string& e : entries) {
    const std::size_t at = e.rfind('=');
    T value{};
    const char* end = e.data() + e.size();
    const auto parsed = std::from_chars(at == std::string::npos ? end : e.data() + at + 1, end, value);
    if (at == std::string::npos || at == 0 || parsed.ptr != end || parsed.ec != std::errc())
      throw Error(ErrorKind::usage, fmt::format("{} {} is not NAME=NUMBER", flag, e), "", fmt::format("{} attn_q=8", flag));
    map[e.substr(0, at)] = value;
  }
}

}  // namespace

DataArgs::DataArgs(CLI::App& app) {
  app.add_option("--data,-d", file, "rows to learn: JSONL, JSON or text")->group("Data");
  add_choice(app, "--format", format, {"automatic", "text", "prompt-completion", "alpaca", "sharegpt", "messages", "tokens", "plain"},
             "what the rows hold")
      ->group("Data");
  app.add_flag("--train-on-prompt", train_on_prompt, "learn every token, not the answers alone")->group("Data");
  app.add_flag("--strict", strict, "refuse data of which a row is bad, cut, or teaches nothing")->group("Data");
}

train::DataOptions DataArgs::options(const ModelArgs& model) const {
  train::DataOptions d;
  d.format = train::data_format(format);
  d.max_tokens = model.context > 0 ? model.context : kContext;
  d.train_on_prompt = train_on_prompt;
  d.strict = strict;
  return d;
}

SftArgs::SftArgs(CLI::App& command, bool running) : model(command), data(command), app(&command) {
  o.train.accumulate = 8;
  add_adapter_options(command, *this);
  add_optimizer_options(command, *this);
  add_length_options(command, *this);
  if (running) add_run_options(command, *this);
  command.add_option("--config", config, "TOML file of options under the names of the flags; flags win");
  command.add_flag("--json", json, "JSON on stdout");
}

train::SftOptions SftArgs::options(Console& console) {
  if (!config.empty()) apply_config(*app, config, console);
  if (data.file.empty()) throw Error(ErrorKind::usage, "no data given", "", "name a file with --data");
  o.load = load_options(model, console);
  o.model = model.file;
  o.data = data.file;
  o.eval = eval;
  o.out = out;
  o.rows = data.options(model);
  o.pre = model.pre;
  o.train.schedule = optim::schedule_kind(schedule);
  o.train.recompute = !no_recompute;
  o.full = method == "full";
  if (o.full) refuse_adapter_options(*app);
  o.adapter.method = method == "dora" ? nn::AdapterMethod::dora : method == "rslora" ? nn::AdapterMethod::rslora : nn::AdapterMethod::lora;
  read_patterns(rank_pattern, "--rank-pattern", o.adapter.rank_pattern);
  read_patterns(alpha_pattern, "--alpha-pattern", o.adapter.alpha_pattern);
  return o;
}

}  // namespace hz::tools
