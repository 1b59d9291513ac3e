// SPDX-License-Identifier: Apache-2.0
// Supervised fine-tuning: a model, a data file and a folder for the result, from start to adapter.
#pragma once
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "hanzo/model/adapter.hpp"
#include "hanzo/model/float_weights.hpp"
#include "hanzo/train/trainer.hpp"

namespace hz::train {

// The sum of -log p over the trained tokens. Documents are sequences of their own; logits exist for 64 rows at a time.
class SftObjective : public Objective {
 public:
  // model: with the adapter attached, or over the weights, whose parameters are trained.
  SftObjective(Model model, std::vector<Var> parameters, int threads = 0)
      : model_(std::move(model)), parameters_(std::move(parameters)), threads_(threads) {}
  Tensor loss(std::span<const Example* const> documents, std::stop_token stop) override;
  std::vector<Var> parameters() const override { return parameters_; }
  const Model& model() const { return model_; }

 private:
  Model model_;
  std::vector<Var> parameters_;
  int threads_;
};

struct SftOptions {
  std::filesystem::path model, data, eval, out;  // eval: another file, or empty
  double eval_split = 0;                         // or a share of the data's rows, drawn by the seed
  bool full = false;                             // train the model's own float weights, not an adapter
  nn::LoraOptions adapter;                       // without `full`
  TrainOptions train;
  DataOptions rows;  // max_tokens also bounds packed units
  std::string pre;   // pre-tokenizer in place of the model file's, or empty
  LoadOptions load;
  bool resume = false;
};

// What the caller hears. All may be empty.
struct SftReport {
  std::function<void(const std::string&)> note;
  std::function<void(const std::string& what, const DataReport&)> data;
  std::function<void(const Progressed&)> step;
  Progress progress;  // loading; its stop token ends the training too
};

struct SftResult {
  TrainResult train;
  bool finished_before = false;  // --resume on a finished run: nothing was done
  std::int64_t parameters = 0;
  std::filesystem::path file;  // adapter_model.safetensors, or with `full` model.gguf; empty when interrupted
  std::string sha256;          // of that file
};

// Throws usage naming the first option out of its range, or two that exclude each other.
void check_options(const SftOptions& options);

// OUT gets: run.json (configuration, seeds, hashes of base, data and adapter), metrics.jsonl, TensorBoard events, loss.svg,
// checkpoints/, and at the end adapter_model.safetensors with adapter_config.json, or with `full` the trained model.gguf. A
// run of the same options gives the same file, byte by byte, on any number of threads and however often it was stopped. Throws usage for a
// folder that is not empty without `resume`, and naming the option where a resumed run differs from what began.
SftResult sft(const SftOptions& options, const SftReport& report = {}, Peers* peers = nullptr);

// What a run trains: an adapter, or the model's own weights.
class Trained {
 public:
  // Attaches it to `model`. Throws as attach_lora and train_weights do.
  Trained(Model& model, const SftOptions& options);
  std::vector<Var> parameters() const;
  std::int64_t count() const;   // of the parameters' elements
  std::string account() const;  // "4884480 parameters of adapters on 210 layers"
  // Writes it into `folder`; the file that holds it.
  std::filesystem::path save(const std::filesystem::path& folder, const Progress& progress) const;

 private:
  Model base_;
  std::optional<Adapter> adapter_;
  std::optional<FloatWeights> weights_;
};

// The data of a run: examples to train on and to evaluate with.
struct SftData {
  Dataset train;
  std::vector<Example> eval;
  std::string eval_sha256;  // of another file
};
SftData load_sft_data(const SftOptions& options, const TextSide& text, const SftReport& report = {});

}  // namespace hz::train
