// SPDX-License-Identifier: Apache-2.0
#include "hanzo/engine/choice.hpp"

#include <algorithm>
#include <cmath>

#include "src/engine/log_sum.hpp"

namespace hz {
namespace {

using Ids = std::vector<std::int32_t>;

std::size_t shared_prefix(const Ids& a, const Ids& b) {
  return static_cast<std::size_t>(std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first - a.begin());
}

std::size_t greatest(const std::vector<double>& v) { return static_cast<std::size_t>(std::max_element(v.begin(), v.end()) - v.begin()); }

}  // namespace

ChoiceScores score_choices(const Model& model, const text::Tokenizer& tokenizer, std::string_view text,
                           std::span<const std::string> choices, std::stop_token stop) {
  if (choices.size() < 2)
    throw Error(ErrorKind::usage, "[score_choices] " + std::to_string(choices.size()) + " choices", "", "give at least two");
  const Ids alone = tokenizer.encode(text);
  std::vector<Ids> whole;
  std::size_t shared = alone.size();
  for (const std::string& c : choices) {
    if (c.empty()) throw Error(ErrorKind::usage, "[score_choices] choice " + std::to_string(whole.size() + 1) + " is empty");
    whole.push_back(tokenizer.encode(std::string(text) + c));
    shared = std::min({shared, shared_prefix(alone, whole.back()), whole.back().size() - 1});
  }
  if (shared == 0)
    throw Error(ErrorKind::usage, "[score_choices] the text gives no token to begin with", "", "give a text before the choices");

  // All but the last shared token fill one cache; that token begins each choice's own row.
  auto prefix = model.new_sequence();
  if (shared > 1) {
    const SequenceChunk chunk{&prefix, std::span(whole[0]).first(shared - 1)};
    model.forward({&chunk, 1}, LogitRows::none, stop);
  }
  std::vector<model::KvSequence> branches(choices.size(), prefix);
  std::vector<SequenceChunk> chunks;
  for (std::size_t i = 0; i < whole.size(); ++i)
    chunks.push_back({&branches[i], std::span(whole[i]).subspan(shared - 1, whole[i].size() - shared)});
  const Tensor logits = model.forward(chunks, LogitRows::all, stop);

  ChoiceScores s;
  std::int64_t row = 0;
  for (std::size_t i = 0; i < whole.size(); ++i) {
    double sum = 0;
    for (std::size_t at = shared; at < whole[i].size(); ++at, ++row) {
      const Tensor one = logits.row(row);
      sum += static_cast<double>(one.span<const float>()[static_cast<std::size_t>(whole[i][at])]) - log_sum(one.span<const float>());
    }
    s.log_prob.push_back(sum);
    s.per_byte.push_back(sum / static_cast<double>(choices[i].size()));
  }
  s.best = greatest(s.log_prob);
  s.best_per_byte = greatest(s.per_byte);
  return s;
}

}  // namespace hz
