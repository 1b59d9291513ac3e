// SPDX-License-Identifier: Apache-2.0
// The options of a fine-tuning run: their ranges, and those by which two runs are told apart.
#include "src/train/sft_options.hpp"

#include <fmt/format.h>

#include <vector>

#include "hanzo/backend/backend.hpp"

namespace hz::train {
namespace {

std::string method_name(nn::AdapterMethod m) {
  return m == nn::AdapterMethod::dora ? "dora" : m == nn::AdapterMethod::rslora ? "rslora" : "lora";
}

struct Bounds {
  std::string name;
  double value, low, high;
};

}  // namespace

void check_options(const SftOptions& o) {
  if (o.model.empty()) throw Error(ErrorKind::usage, "no model given", "", "name a GGUF file with -m");
  if (o.data.empty()) throw Error(ErrorKind::usage, "no data given", "", "name a file with --data");
  const TrainOptions& t = o.train;
  constexpr double kMany = 1e12;
  std::vector<Bounds> all{{"lr", t.lr, 0, 1000},
                          {"weight-decay", t.weight_decay, 0, 1000},
                          {"lora-plus", t.lora_plus, 1e-6, 1e6},
                          {"beta1", t.beta1, 0, 0.9999},
                          {"beta2", t.beta2, 0, 0.999999},
                          {"eps", t.eps, 1e-30, 1},
                          {"clip", t.clip, 0, 1e30},
                          {"warmup", t.warmup, 0, kMany},
                          {"min-lr-ratio", t.min_lr_ratio, 0, 1},
                          {"alpha", static_cast<double>(o.adapter.alpha), -1e6, 1e6},
                          {"dropout", static_cast<double>(o.adapter.dropout), 0, 0.99},
                          {"eval-split", o.eval_split, 0, 0.9},
                          {"steps", static_cast<double>(t.steps), 0, kMany},
                          {"epochs", static_cast<double>(t.epochs), 0, kMany},
                          {"micro-batch", static_cast<double>(t.micro_batch), 1, kMany},
                          {"accumulate", static_cast<double>(t.accumulate), 1, kMany},
                          {"early-stop", static_cast<double>(t.early_stop), 0, kMany},
                          {"rank", static_cast<double>(o.adapter.rank), 1, 4096}};
  for (const auto& [key, rank] : o.adapter.rank_pattern) all.push_back({"rank-pattern " + key, static_cast<double>(rank), 1, 4096});
  for (const auto& [key, alpha] : o.adapter.alpha_pattern)
    all.push_back({"alpha-pattern " + key, static_cast<double>(alpha), -1e6, 1e6});
  for (const Bounds& b : all)
    if (!(b.value >= b.low && b.value <= b.high))
      throw Error(ErrorKind::usage, fmt::format("--{} is {:g}", b.name, b.value), "",
                  fmt::format("a number from {:g} to {:g}", b.low, b.high));
  if (!o.eval.empty() && o.eval_split > 0)
    throw Error(ErrorKind::usage, "--eval and --eval-split exclude each other", "", "give one of them");
  if ((t.early_stop > 0 || t.keep_best) && o.eval.empty() && o.eval_split == 0)
    throw Error(ErrorKind::usage, "--early-stop and --keep-best need an evaluation", "", "--eval FILE or --eval-split 0.05");
}

nlohmann::ordered_json config_of(const SftOptions& o) {
  const TrainOptions& t = o.train;
  nlohmann::ordered_json c{{"method", o.full ? std::string("full") : method_name(o.adapter.method)}};
  if (!o.full) {
    c.update({{"rank", o.adapter.rank},
              {"alpha", o.adapter.alpha},
              {"targets", o.adapter.targets},
              {"dropout", o.adapter.dropout},
              {"lora-plus", t.lora_plus}});
    for (const auto& [key, rank] : o.adapter.rank_pattern) c["rank-pattern " + key] = rank;
    for (const auto& [key, alpha] : o.adapter.alpha_pattern) c["alpha-pattern " + key] = alpha;
  }
  c.update({{"lr", t.lr},
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
            {"strict", o.rows.strict},
            {"pre", o.pre},
            {"device", o.load.backend ? std::string(o.load.backend->name()) : o.load.device},
            {"activations", o.load.activations == nn::Activations::f32 ? "f32" : "int8"},
            {"kv", o.load.kv == KvKind::f32 ? "f32" : o.load.kv == KvKind::q8_0 ? "q8_0" : "f16"}});
  return c;
}

}  // namespace hz::train
