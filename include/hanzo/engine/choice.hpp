// SPDX-License-Identifier: Apache-2.0
// Multiple choice: which continuation of a text a model finds most likely.
#pragma once
#include <cstdint>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "hanzo/model/model.hpp"
#include "hanzo/text/tokenizer.hpp"

namespace hz {

struct ChoiceScores {
  std::vector<double> log_prob;  // of each continuation: sum over its tokens, natural units
  std::vector<double> per_byte;  // divided by the continuation's bytes
  std::size_t best = 0, best_per_byte = 0;  // ties to the first
};

// The continuation's tokens are those of text + choice behind what all of them share with the tokens of the text. The
// shared tokens are evaluated once; each choice goes on from a copy of their cache, all in one batch. Throws usage for
// fewer than two choices, an empty one, or a text that does not fit the context.
ChoiceScores score_choices(const Model& model, const text::Tokenizer& tokenizer, std::string_view text,
                           std::span<const std::string> choices, std::stop_token stop = {});

}  // namespace hz
