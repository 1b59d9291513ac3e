// SPDX-License-Identifier: Apache-2.0
// Supervised fine-tuning.
#include "hanzo/train/sft.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "hanzo/core/parallel.hpp"
#include "hanzo/io/sha256.hpp"
#include "hanzo/nn/losses.hpp"
#include "src/io/input_file.hpp"
#include "src/train/run_folder.hpp"
#include "src/train/sft_options.hpp"

namespace hz::train {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::int64_t kHeadRows = 64;  // rows of logits at a time

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

Json result_of(const SftResult& r, bool full) {
  Json j{{"steps", r.train.steps},
         {"skipped_steps", r.train.skipped},
         {"parameters", r.parameters},
         {"first_loss", r.train.first_loss},
         {"last_loss", r.train.last_loss}};
  if (r.train.first_eval) j["first_eval_loss"] = *r.train.first_eval;
  if (r.train.last_eval) j["last_eval_loss"] = *r.train.last_eval;
  if (r.train.best_eval) j.update({{"best_eval_loss", *r.train.best_eval}, {"best_step", r.train.best_step}});
  j["stopped_early"] = r.train.early;
  j[full ? "model_sha256" : "adapter_sha256"] = r.sha256;
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

// A piece at a time: the file may be a whole model.
std::string file_sha256(const std::filesystem::path& path, const Progress& progress) {
  const io::InputFile file(path);
  io::Sha256 hash;
  std::vector<std::byte> piece(std::size_t{1} << 20);
  for (std::uint64_t at = 0; at < file.size(); at += piece.size()) {
    progress.check("hashing");
    piece.resize(static_cast<std::size_t>(std::min<std::uint64_t>(piece.size(), file.size() - at)));
    file.read(at, piece);
    hash.update(piece);
  }
  return hash.hex();
}

// A finished run's files, where they are still there.
void check_finished(const RunFolder& folder, const SftOptions& o, const Progress& progress) {
  const StopScope scope(progress.stop);
  if (io::is_there(o.data)) folder.same_hash("data", file_sha256(o.data, progress));
  if (!o.eval.empty() && io::is_there(o.eval)) folder.same_hash("eval", file_sha256(o.eval, progress));
  if (io::is_there(o.model) && o.load.isq.empty()) folder.same_hash("base", model::tensors_sha256(io::Gguf::open(o.model)));
}

void identify(RunFolder& folder, const SftOptions& o, const Model& model, const SftData& data) {
  folder.identify("base", {{"file", o.model.filename().string()}, {"sha256", model.base_sha256()}});
  folder.identify("data", counts_of(o.data, data.train.sha256, data.train.report, data.train.examples.size()));
  if (!o.eval.empty()) folder.identify("eval", {{"file", o.eval.filename().string()}, {"sha256", data.eval_sha256}});
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

Trained::Trained(Model& model, const SftOptions& options) : base_(model) {
  if (options.full) weights_ = nn::train_weights(model);
  else adapter_ = nn::attach_lora(model, options.adapter, Seed{options.train.seed});
}

std::vector<Var> Trained::parameters() const { return weights_ ? weights_->parameters() : adapter_->parameters(); }

std::int64_t Trained::count() const {
  std::int64_t n = 0;
  for (const Var& v : parameters()) n += v.tensor().numel();
  return n;
}

std::string Trained::account() const {
  return weights_ ? fmt::format("all {} parameters of the model", count())
                  : fmt::format("{} parameters of adapters on {} layers", count(), adapter_->targets().size());
}

std::filesystem::path Trained::save(const std::filesystem::path& folder, const Progress& progress) const {
  const std::filesystem::path file = folder / (weights_ ? "model.gguf" : "adapter_model.safetensors");
  if (weights_) weights_->save(base_, file, progress);
  else adapter_->save(folder);
  return file;
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
  check_options(options);
  if (options.out.empty()) throw Error(ErrorKind::usage, "no folder for the result given", "", "name one with -o");
  const bool first = peers == nullptr || peers->rank() == 0;
  std::optional<RunFolder> folder;  // the first rank's
  if (first) folder.emplace(options.out, config_of(options), options.resume);
  SftResult result;
  result.finished_before = first && folder->state() == RunFolder::State::finished;
  if (peers != nullptr) result.finished_before = peers->any(result.finished_before);
  if (result.finished_before) {
    if (first) check_finished(*folder, options, report.progress);
    return result;
  }
  LoadOptions load = options.load;
  load.context = std::max<std::int64_t>(load.context, options.rows.max_tokens);
  Model model = Model::load(options.model, load);
  const SftData data = load_sft_data(options, TextSide::from_gguf(model.file().metadata(), options.pre), report);
  const Trained trained = [&] {
    const StopScope scope(report.progress.stop);  // the base's hash and DoRA's norms read the whole model
    if (first) identify(*folder, options, model, data);
    return Trained(model, options);
  }();
  SftObjective objective(model, trained.parameters(), options.load.threads);
  result.parameters = trained.count();
  TrainOptions train = options.train;
  train.max_tokens = options.rows.max_tokens;
  train.threads = options.load.threads;
  Trainer trainer(objective, data.train.examples, data.eval, train, options.out, peers);
  if (report.note)
    report.note(fmt::format("{}; {} steps on {} rows, evaluation on {}", trained.account(), trainer.total_steps(),
                            data.train.examples.size(), data.eval.size()));
  if (first) folder->begin();
  result.train = trainer.run(options.resume, report.step, report.progress.stop);
  if (result.train.interrupted || !first) return result;
  try {
    result.file = trained.save(options.out, report.progress);
    result.sha256 = file_sha256(result.file, report.progress);
  } catch (const Error& e) {  // all steps are done and kept: --resume writes the result
    if (e.kind() != ErrorKind::cancelled) throw;
    result.train.interrupted = true;
    return result;
  }
  folder->finish(result_of(result, options.full));
  return result;
}

}  // namespace hz::train
