// SPDX-License-Identifier: Apache-2.0
// Supervised fine-tuning.
#include "hanzo/train/sft.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "hanzo/io/sha256.hpp"
#include "hanzo/nn/losses.hpp"
#include "src/train/files.hpp"
#include "src/train/run_folder.hpp"

namespace hz::train {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::int64_t kHeadRows = 64;  // rows of logits at a time

std::string method_name(nn::AdapterMethod m) {
  return m == nn::AdapterMethod::dora ? "dora" : m == nn::AdapterMethod::rslora ? "rslora" : "lora";
}

// Every option that decides the result, under the name of its flag.
Json config_of(const SftOptions& o) {
  const TrainOptions& t = o.train;
  Json c{{"method", method_name(o.adapter.method)},
         {"rank", o.adapter.rank},
         {"alpha", o.adapter.alpha},
         {"targets", o.adapter.targets},
         {"dropout", o.adapter.dropout},
         {"lora-plus", t.lora_plus},
         {"lr", t.lr},
         {"weight-decay", t.weight_decay},
         {"beta1", t.beta1},
         {"beta2", t.beta2},
         {"eps", t.eps},
         {"clip", t.clip},
         {"schedule", std::string(optim::name_of(t.schedule))},
         {"warmup", t.warmup},
         {"min-lr-ratio", t.min_lr_ratio},
         {"epochs", t.epochs},
         {"steps", t.steps},
         {"micro-batch", t.micro_batch},
         {"accumulate", t.accumulate},
         {"packing", t.packing},
         {"ctx", o.rows.max_tokens},
         {"seed", t.seed},
         {"eval-split", o.eval_split},
         {"eval-every", t.eval_every},
         {"early-stop", t.early_stop},
         {"keep-best", t.keep_best},
         {"format", std::string(name_of(o.rows.format))},
         {"train-on-prompt", o.rows.train_on_prompt},
         {"strict", o.rows.strict}};
  c["activations"] = o.load.activations == nn::Activations::f32 ? "f32" : "int8";
  c["kv"] = o.load.kv == KvKind::f32 ? "f32" : o.load.kv == KvKind::q8_0 ? "q8_0" : "f16";
  for (const auto& [key, rank] : o.adapter.rank_pattern) c["rank-pattern " + key] = rank;
  for (const auto& [key, alpha] : o.adapter.alpha_pattern) c["alpha-pattern " + key] = alpha;
  return c;
}

Json counts_of(const std::filesystem::path& file, const std::string& sha256, const DataReport& r, std::size_t examples) {
  return {{"file", file.filename().string()},
          {"sha256", sha256},
          {"rows", r.rows},
          {"examples", examples},
          {"bad", r.bad.count},
          {"untrained", r.untrained.count},
          {"truncated", r.truncated.count},
          {"tokens", r.tokens},
          {"trained_tokens", r.trained_tokens}};
}

Json result_of(const SftResult& r) {
  Json j{{"steps", r.train.steps},
         {"skipped_steps", r.train.skipped},
         {"parameters", r.parameters},
         {"first_loss", r.train.first_loss},
         {"last_loss", r.train.last_loss}};
  if (r.train.first_eval) j["first_eval_loss"] = *r.train.first_eval;
  if (r.train.last_eval) j["last_eval_loss"] = *r.train.last_eval;
  if (r.train.best_eval) j.update({{"best_eval_loss", *r.train.best_eval}, {"best_step", r.train.best_step}});
  j["stopped_early"] = r.train.early;
  j["adapter_sha256"] = r.adapter_sha256;
  return j;
}

// Moves a share of the examples, drawn by the seed, to the evaluation; both keep the order of the file.
void split(SftData& data, double share, std::uint64_t seed) {
  auto& all = data.train.examples;
  const auto n = static_cast<std::int64_t>(all.size());
  const auto out = static_cast<std::int64_t>(std::ceil(share * static_cast<double>(n)));
  if (out >= n)
    throw Error(ErrorKind::usage,
                "an evaluation share of " + std::to_string(share) + " leaves none of " + std::to_string(n) + " rows to train on", "",
                "a smaller --eval-split");
  const auto order = epoch_order(seed, std::int64_t{1} << 20, n);  // no epoch of the training has this order
  const std::set<std::int32_t> chosen(order.begin(), order.begin() + out);
  std::vector<Example> rest;
  for (std::int32_t i = 0; i < n; ++i) (chosen.contains(i) ? data.eval : rest).push_back(std::move(all[static_cast<std::size_t>(i)]));
  all = std::move(rest);
}

void check(const SftOptions& o) {
  if (o.model.empty()) throw Error(ErrorKind::usage, "no model given", "", "name a GGUF file with -m");
  if (o.data.empty()) throw Error(ErrorKind::usage, "no data given", "", "name a file with --data");
  if (o.out.empty()) throw Error(ErrorKind::usage, "no folder for the result given", "", "name one with -o");
  if (!o.eval.empty() && o.eval_split > 0)
    throw Error(ErrorKind::usage, "--eval and --eval-split exclude each other", "", "leave one of them away");
  if (!(o.eval_split >= 0 && o.eval_split < 1)) throw Error(ErrorKind::usage, "--eval-split is not in [0, 1)", "", "a share such as 0.05");
  if ((o.train.early_stop > 0 || o.train.keep_best) && o.eval.empty() && o.eval_split == 0)
    throw Error(ErrorKind::usage, "--early-stop and --keep-best need an evaluation", "", "--eval FILE or --eval-split 0.05");
}

void identify(RunFolder& folder, const SftOptions& o, const Model& model, const SftData& data) {
  folder.identify("base", {{"file", o.model.filename().string()}, {"sha256", model.base_sha256()}});
  folder.identify("data", counts_of(o.data, data.train.sha256, data.train.report, data.train.examples.size()));
  if (!o.eval.empty()) folder.identify("eval", {{"file", o.eval.filename().string()}, {"sha256", data.eval_sha256}});
}

std::string file_sha256(const std::filesystem::path& file) { return io::Sha256().update(read_text(file)).hex(); }

std::int64_t count(const std::vector<Var>& parameters) {
  std::int64_t n = 0;
  for (const Var& v : parameters) n += v.tensor().numel();
  return n;
}

}  // namespace

Tensor SftObjective::loss(std::span<const Example* const> documents, std::stop_token stop) {
  std::vector<model::KvSequence> sequences;
  std::vector<SequenceChunk> chunks;
  std::vector<std::int32_t> targets;
  sequences.reserve(documents.size());
  for (const Example* e : documents) {
    sequences.push_back(model_.new_sequence());
    chunks.push_back({&sequences.back(), e->ids});
    targets.insert(targets.end(), e->labels.begin() + 1, e->labels.end());  // row i predicts token i + 1
    targets.push_back(kIgnore);
  }
  const Tensor hidden = model_.hidden(chunks, LogitRows::all, std::move(stop));
  return nn::chunked_cross_entropy(hidden, targets, [this](const Tensor& rows) { return model_.logits(rows); }, kHeadRows,
                                   {.reduction = nn::Reduction::sum, .threads = threads_});
}

SftData load_sft_data(const SftOptions& options, const TextSide& text, const SftReport& report) {
  SftData data;
  DataOptions rows = options.rows;
  rows.progress = report.progress;
  data.train = load_dataset(options.data, text, rows);
  if (report.data) report.data("training data", data.train.report);
  if (!options.eval.empty()) {
    Dataset eval = load_dataset(options.eval, text, rows);
    if (report.data) report.data("evaluation data", eval.report);
    data.eval = std::move(eval.examples);
    data.eval_sha256 = eval.sha256;
  } else if (options.eval_split > 0) {
    split(data, options.eval_split, options.train.seed);
  }
  return data;
}

SftResult sft(const SftOptions& options, const SftReport& report, Peers* peers) {
  check(options);
  const bool first = peers == nullptr || peers->rank() == 0;
  std::optional<RunFolder> folder;  // the first rank's
  if (first) folder.emplace(options.out, config_of(options), options.resume);
  SftResult result;
  result.finished_before = first && folder->state() == RunFolder::State::finished;
  if (peers != nullptr) result.finished_before = peers->any(result.finished_before);
  if (result.finished_before) return result;
  LoadOptions load = options.load;
  load.context = std::max<std::int64_t>(load.context, options.rows.max_tokens);
  Model model = Model::load(options.model, load);
  const SftData data = load_sft_data(options, TextSide::from_gguf(model.file().metadata()), report);
  if (first) identify(*folder, options, model, data);
  const Adapter adapter = nn::attach_lora(model, options.adapter, Seed{options.train.seed});
  SftObjective objective(model, adapter.parameters(), options.load.threads);
  result.parameters = count(adapter.parameters());
  TrainOptions train = options.train;
  train.max_tokens = options.rows.max_tokens;
  train.threads = options.load.threads;
  Trainer trainer(objective, data.train.examples, data.eval, train, options.out, peers);
  if (report.note)
    report.note(fmt::format("{} trained parameters of {} layers; {} steps on {} rows, evaluation on {}", result.parameters,
                            adapter.targets().size(), trainer.total_steps(), data.train.examples.size(), data.eval.size()));
  result.train = trainer.run(options.resume, report.step, report.progress.stop);
  if (result.train.interrupted || !first) return result;
  adapter.save(options.out);
  result.adapter_sha256 = file_sha256(options.out / "adapter_model.safetensors");
  folder->finish(result_of(result));
  return result;
}

}  // namespace hz::train
