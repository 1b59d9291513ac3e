// SPDX-License-Identifier: Apache-2.0
// Group loss: optimizers, clipping and schedules.
#include <memory>

#include "hanzo/nn/optim.hpp"
#include "hanzo/nn/schedule.hpp"
#include "tests/conformance/loss.hpp"

namespace hz::conformance {
namespace {

using nlohmann::json;

std::vector<Var> parameters_of(const json& init) {
  std::vector<Var> all;
  for (std::size_t i = 0; i < init.size(); ++i) all.emplace_back(tensor_of(init[i]), "p" + std::to_string(i));
  return all;
}

std::vector<Tensor> tensors_of(const json& list) {
  std::vector<Tensor> all;
  for (const json& t : list) all.push_back(tensor_of(t));
  return all;
}

std::unique_ptr<optim::Optimizer> optimizer_of(const json& c, std::vector<Var> parameters) {
  if (c["kind"] == "adamw")
    return std::make_unique<optim::AdamW>(
        std::move(parameters),
        optim::AdamWOptions{.lr = c["lr"], .beta1 = c["beta1"], .beta2 = c["beta2"], .eps = c["eps"], .weight_decay = c["weight_decay"]});
  return std::make_unique<optim::Sgd>(std::move(parameters), optim::SgdOptions{.lr = c["lr"],
                                                                               .momentum = c["momentum"],
                                                                               .dampening = c["dampening"],
                                                                               .weight_decay = c["weight_decay"],
                                                                               .nesterov = c["nesterov"]});
}

void check_clipping(const json& c, LossCheck& check) {
  const auto gradients = tensors_of(c["grads"]);
  const double norm = optim::global_norm(gradients), factor = optim::clip_factor(norm, c["max_norm"]);
  check.near("norm", norm, c["total_norm"]);
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    for (float& g : gradients[i].span<float>()) g *= static_cast<float>(factor);
    check.near("clipped gradient " + std::to_string(i), gradients[i].span<const float>(), c["clipped"][i]);
  }
}

}  // namespace

void check_optim(const LossCase& c, LossCheck& check) {
  if (c["kind"] == "clip_grad_norm") return check_clipping(c, check);
  const auto opt = optimizer_of(c, parameters_of(c["init"]));
  for (std::size_t step = 0; step < c["grads"].size(); ++step) {
    optim::StepOptions options;
    if (!c["lrs"].is_null()) options.lr = c["lrs"][step].get<double>();
    opt->step(tensors_of(c["grads"][step]), options);
    for (std::size_t i = 0; i < opt->parameters().size(); ++i)
      check.near("parameter " + std::to_string(i) + " after step " + std::to_string(step),
                 opt->parameters()[i].tensor().span<const float>(), c["params_after_step"][step][i]);
  }
  for (const auto& [name, tensor] : opt->state()) {
    const std::size_t dot = name.find('.');
    const json& expected = c["final_state"][std::stoul(name.substr(1, dot - 1))];
    if (const std::string key = name.substr(dot + 1); expected.contains(key)) check.near(name, tensor.span<const float>(), expected[key]);
  }
}

void check_schedule(const LossCase& c, LossCheck& check) {
  const std::string kind = c["kind"], shape = c.value("decay_type", "cosine");
  optim::ScheduleOptions options;
  options.kind = optim::schedule_kind(kind == "constant_with_warmup" ? "constant" : kind);
  options.total = c["total"];
  options.warmup = c["warmup"];
  options.min_ratio = c.value("min_lr_ratio", 0.0);
  options.decay = c.value("decay", 0);
  options.shape = shape == "linear"   ? optim::DecayShape::linear
                  : shape == "cosine" ? optim::DecayShape::cosine
                                      : optim::DecayShape::one_minus_sqrt;
  const optim::Schedule schedule(options);
  std::vector<float> rates;
  for (std::size_t s = 0; s < c["lr"].size(); ++s)
    rates.push_back(static_cast<float>(c["base_lr"].get<double>() * schedule.factor(static_cast<std::int64_t>(s))));
  check.near("rate", rates, c["lr"]);
}

}  // namespace hz::conformance
