// SPDX-License-Identifier: Apache-2.0
// Losses: one number [1] with its gradient. Sums are taken in double, rows and elements ascending, whatever the threads.
#pragma once
#include <cstdint>
#include <functional>
#include <span>

#include "hanzo/core/tensor.hpp"

namespace hz::nn {

// mean: over what counts (elements, rows that are not ignored, the sum of weights); over nothing it is 0, with zero
// gradients.
enum class Reduction { mean, sum };

struct CrossEntropyOptions {
  Reduction reduction = Reduction::mean;
  std::int32_t ignore_index = -100;     // rows with this target count nothing
  float label_smoothing = 0.0f;         // in [0, 1): target 1 - s + s / vocab, others s / vocab
  std::span<const float> weights = {};  // per row; mean: sum(w * loss) / sum(w). Empty: 1 each
  int threads = 0;                      // 0: default_threads()
};
// Of logits F32 [rows, vocab] and a target each: log(sum e^logit) - logit[target]. Throws usage for other counts, or a
// target outside the vocabulary. F32 softmax, so that logits of any size are safe.
Tensor cross_entropy(const Tensor& logits, std::span<const std::int32_t> targets, const CrossEntropyOptions& options = {});

// Cross entropy of a product with a large matrix, such as a vocabulary's: `logits` is called for `chunk` rows of
// x [rows, n] at a time, so that no [rows, vocab] array ever exists. Rows that are ignored or have weight 0 are not
// computed. Under a tape each chunk's gradient is taken at once, also for variables that `logits` uses, and then kept.
Tensor chunked_cross_entropy(const Tensor& x, std::span<const std::int32_t> targets, const std::function<Tensor(const Tensor&)>& logits,
                             std::int64_t chunk = 64, const CrossEntropyOptions& options = {});

// Minus the log-probability [rows, classes] of each target.
Tensor nll(const Tensor& log_probs, std::span<const std::int32_t> targets, Reduction reduction = Reduction::mean,
           std::int32_t ignore_index = -100);
// (input - target)^2; target has no gradient, here and below.
Tensor mse(const Tensor& input, const Tensor& target, Reduction reduction = Reduction::mean);
// max(x, 0) - x * y + log1p(e^-|x|): finite for any logit x; y in [0, 1].
Tensor bce_with_logits(const Tensor& logits, const Tensor& target, Reduction reduction = Reduction::mean);
// d^2 / 2 for |d| <= delta, else delta * (|d| - delta / 2) (Huber, 1964; not divided by delta).
Tensor huber(const Tensor& input, const Tensor& target, float delta = 1.0f, Reduction reduction = Reduction::mean);
// KL(p || q) of softmax(target) to softmax(logits), [rows, classes] each; mean: over rows.
Tensor kl_divergence(const Tensor& logits, const Tensor& target, Reduction reduction = Reduction::mean);

}  // namespace hz::nn
