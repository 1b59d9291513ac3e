// SPDX-License-Identifier: Apache-2.0
// The stages of sampling: each changes or thins out the candidates.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hanzo/engine/sampling.hpp"
#include "src/engine/candidates.hpp"

namespace hz::engine {

// keep: at least so many tokens stay, >= 1.
void keep_typical(Candidates& c, float share, std::size_t keep);
void keep_top_n_sigma(Candidates& c, float n, std::size_t keep);
void keep_min_p(Candidates& c, float share, std::size_t keep);
void exclude_top_choices(Candidates& c, float threshold, std::size_t keep);  // XTC, once its chance has come
void apply_temperature(Candidates& c, const SamplingOptions& options);
// Tokens with more than mu bits of surprise go.
void keep_mirostat(Candidates& c, float mu);

// Scratch of the stages that look at the history.
class RepetitionPenalty {
 public:
  void apply(Candidates& c, const SamplingOptions& options, std::span<const std::int32_t> history, std::int32_t vocab_size);

 private:
  std::vector<std::int32_t> counts_, seen_;
};

class DryPenalty {
 public:
  void configure(const SamplingOptions& options, const TokenTable* table);
  void apply(Candidates& c, const SamplingOptions& options, std::span<const std::int32_t> history);

 private:
  bool breaks(std::span<const std::int32_t> history, std::size_t i);
  bool holds_breaker(std::int32_t id);

  const TokenTable* table_ = nullptr;
  std::vector<std::string> breakers_;
  std::size_t longest_ = 0;                // bytes of the longest breaker
  std::vector<signed char> holds_;         // per token: -1 not looked up yet
  std::vector<std::int32_t> match_, best_, touched_;
};

// The last n of history: n < 0 all of it.
inline std::span<const std::int32_t> last_of(std::span<const std::int32_t> history, std::int32_t n) {
  return n < 0 || history.size() <= static_cast<std::size_t>(n) ? history : history.last(static_cast<std::size_t>(n));
}

}  // namespace hz::engine
