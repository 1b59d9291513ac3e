// SPDX-License-Identifier: Apache-2.0
// Collecting importance: a model reads a text, and the mean squared inputs of every weight matrix are added up.
#pragma once
#include <cstdint>
#include <span>

#include "hanzo/core/progress.hpp"
#include "hanzo/model/importance.hpp"
#include "hanzo/model/model.hpp"

namespace hz {

struct ImportanceOptions {
  std::int64_t window = 512;        // tokens of a window; each is evaluated from an empty context
  std::int64_t most_windows = -1;   // -1: all
  std::int32_t bos = -1;            // put in place of the first token of each window; -1: none
  Progress progress = {};
};
// Whole windows only, through the model's one forward pass; the same values for any number of threads. Throws usage when
// the text has less than one window.
model::Importance collect_importance(const Model& model, std::span<const std::int32_t> ids, const ImportanceOptions& options = {});

}  // namespace hz
