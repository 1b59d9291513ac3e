// SPDX-License-Identifier: Apache-2.0
// Measures of a model on a text: perplexity, and the distance between two ways to evaluate it.
#pragma once
#include <cstdint>
#include <filesystem>
#include <span>

#include "hanzo/core/progress.hpp"
#include "hanzo/model/model.hpp"

namespace hz {

struct EvaluateOptions {
  std::int64_t window = 512;    // tokens per window; each is evaluated from an empty context
  std::int64_t ubatch = 512;
  std::int32_t bos = -1;        // put in place of the first token of each window; -1: none
  Progress progress = {};
};

struct Perplexity {
  double value = 0;             // e^mean of the negative log-likelihoods
  double uncertainty = 0;       // one standard error of `value`
  std::int64_t scored = 0;      // tokens
  std::int64_t windows = 0;
};
// llama.cpp's definition: whole windows only, the second half of each is scored (token i + 1 from the logits of i, for
// i from window / 2 to window - 2). Throws usage when the text has less than one window.
Perplexity perplexity(const Model& model, std::span<const std::int32_t> ids, const EvaluateOptions& options = {});

struct Agreement {
  double kl_mean = 0, kl_max = 0;  // of `base` to `other`, natural units, over all scored positions
  double top1 = 0;                 // share of positions with the same most likely token
  std::int64_t scored = 0;
};
// Over the same positions as perplexity.
Agreement agreement(const Model& base, const Model& other, std::span<const std::int32_t> ids, const EvaluateOptions& options = {});

// The base's logits at those positions as a GGUF file (one F32 tensor), and the agreement of a model with them. The file
// knows its text and window: agreement_with throws bad_file for others.
void save_base_logits(const Model& base, std::span<const std::int32_t> ids, const std::filesystem::path& file,
                      const EvaluateOptions& options = {});
Agreement agreement_with(const std::filesystem::path& base, const Model& other, std::span<const std::int32_t> ids,
                         const EvaluateOptions& options = {});

}  // namespace hz
