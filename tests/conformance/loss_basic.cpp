// SPDX-License-Identifier: Apache-2.0
// Group loss: cross entropy, nll, mse, bce, huber, and the normalisation of accumulated micro-batches.
#include "hanzo/autograd/tape.hpp"
#include "hanzo/nn/losses.hpp"
#include "tests/conformance/loss.hpp"

namespace hz::conformance {
namespace {

using nlohmann::json;

std::vector<std::int32_t> ids_of(const json& list) {
  std::vector<std::int32_t> ids;
  for (const double v : numbers(list)) ids.push_back(static_cast<std::int32_t>(v));
  return ids;
}

nn::Reduction reduction_of(const json& c) { return c.value("reduction", "mean") == "sum" ? nn::Reduction::sum : nn::Reduction::mean; }

Tensor cross_entropy_of(const json& c, const Tensor& logits) {
  const auto weights = c.contains("mask") ? numbers(c["mask"]) : std::vector<double>{};
  const std::vector<float> narrow(weights.begin(), weights.end());
  nn::CrossEntropyOptions options;
  options.reduction = reduction_of(c);
  options.ignore_index = c.value("ignore_index", -100);
  options.label_smoothing = c.value("label_smoothing", 0.0f);
  options.weights = narrow;
  return nn::cross_entropy(logits, ids_of(c["targets"]), options);
}

Tensor loss_of(const json& c, const Tensor& x) {
  const std::string kind = c["kind"];
  if (kind == "cross_entropy") return cross_entropy_of(c, x);
  if (kind == "nll") return nn::nll(x, ids_of(c["targets"]), reduction_of(c), c.value("ignore_index", -100));
  const Tensor target = tensor_of(c["target"]);
  if (kind == "mse") return nn::mse(x, target, reduction_of(c));
  if (kind == "bce_with_logits") return nn::bce_with_logits(x, target, reduction_of(c));
  if (kind == "huber") return nn::huber(x, target, c["delta"], reduction_of(c));
  throw Error(ErrorKind::unsupported, "no loss is named " + kind);
}

}  // namespace

void check_basic(const LossCase& c, LossCheck& check) {
  const std::string kind = c["kind"], input = kind == "nll" ? "log_probs" : c.contains("logits") ? "logits" : "input";
  const Var x(tensor_of(c[input]));
  Tape tape;
  const Tensor loss = loss_of(c, x);
  check.near("loss", static_cast<double>(loss.item()), c["loss"].get<double>());
  check.near("d" + input, tape.backward(loss)[x].span<const float>(), c["d" + input]);
}

// Each micro-batch's sum over the trained tokens of all; logits at t predict the label at t + 1.
void check_sft(const LossCase& c, LossCheck& check) {
  double sum = 0;
  const double total = c["total_valid_tokens"];
  for (const json& m : c["microbatches"]) {
    const Tensor logits = tensor_of(m["logits"]);
    const std::int64_t rows = logits.size(0), length = logits.size(1), vocab = logits.size(2);
    const auto input = ids_of(m["input_ids"]), mask = ids_of(m["loss_mask"]);
    std::vector<std::int32_t> targets(static_cast<std::size_t>(rows * length), -100);
    std::int64_t valid = 0;
    for (std::size_t i = 0; i + 1 < targets.size(); ++i)
      if ((i + 1) % static_cast<std::size_t>(length) != 0 && mask[i + 1] == 1) {
        targets[i] = input[i + 1];
        ++valid;
      }
    check.near("trained tokens", static_cast<double>(valid), m["n_valid"].get<double>());
    const Var x(logits.reshape({rows * length, vocab}));
    Tape tape;
    const Tensor loss = nn::cross_entropy(x, targets, {.reduction = nn::Reduction::sum});
    check.near("sum", static_cast<double>(loss.item()), m["sum_nll"].get<double>());
    const Tensor gradient = tape.backward(loss)[x];
    for (float& g : gradient.span<float>()) g /= static_cast<float>(total);
    check.near("dlogits", gradient.span<const float>(), m["dlogits"]);
    sum += static_cast<double>(loss.item());
  }
  check.near("loss", sum / total, c["loss"].get<double>());
}

}  // namespace hz::conformance
