// SPDX-License-Identifier: Apache-2.0
// Sampling: from the logits of one position to the next token, as a function and without hidden state.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hanzo/engine/token_table.hpp"

namespace hz {

// Added to the logit of a token. -infinity bans it.
struct TokenBias {
  std::int32_t id = 0;
  float bias = 0;
};

// The stages that `sampling_order` arranges, in their default order.
enum class SamplingStage : std::uint8_t { penalties, dry, top_n_sigma, top_k, typical, top_p, min_p, xtc, temperature };
std::string_view name_of(SamplingStage stage);

inline constexpr std::string_view kDefaultSamplingOrder = "penalties;dry;top_n_sigma;top_k;typical;top_p;min_p;xtc;temperature";

// Names separated by ';' or ',' (also typ_p, typical_p, temp), or one letter each without separators:
// e penalties, d dry, s top_n_sigma, k top_k, y typical, p top_p, m min_p, x xtc, t temperature.
// A stage that is not named does not run. Empty, unknown or repeated: Error(usage).
std::vector<SamplingStage> parse_sampling_order(std::string_view order);

// Always first: logit_bias, the grammar's mask, ignore_eos. Then the stages in `sampling_order`, then the draw.
// Every number must be finite. "Last n" counts tokens back from the end of the history: 0 none, -1 all of it.
struct SamplingOptions {
  std::optional<std::uint64_t> seed = {};  // none: a fresh one, told by Sampler::seed()
  std::uint64_t stream = 0;           // sequences under one seed that shall differ get one each

  // temperature: logits are divided by it. <= 0: greedy, the greatest logit after bias, mask, penalties and DRY;
  // no other stage acts. range > 0 makes it dynamic: from max(0, temperature - range) to temperature + range by the
  // entropy of what is left, as a share of its maximum, raised to `exponent`.
  float temperature = 0.8f;
  float dynatemp_range = 0;     // >= 0
  float dynatemp_exponent = 1;  // >= 0

  std::int32_t top_k = 40;     // the k greatest; <= 0 or more than the vocabulary: off
  float top_p = 0.95f;         // 0 to 1: the least set of most probable tokens with this mass (Holtzman et al. 2020); 1 off
  float min_p = 0.05f;         // 0 to 1: at least this share of the greatest probability (Nguyen et al. 2024); 0 off
  float typical_p = 1;         // 0 to 1: mass of those nearest to the entropy (Meister et al. 2023); 1 off
  float top_n_sigma = -1;      // logits within n standard deviations of the greatest (Tang et al. 2024); <= 0 off
  float xtc_probability = 0;   // 0 to 1: how often all but the least of the tokens above xtc_threshold are removed; 0 off
  float xtc_threshold = 0.1f;  // 0 to 1; above 0.5: off
  std::int32_t min_keep = 0;   // >= 0: top_p, min_p, typical, top_n_sigma and xtc leave so many, at least 1

  std::int32_t repeat_last_n = 64;  // >= -1
  float repeat_penalty = 1;         // > 0: positive logits are divided, others multiplied by it (Keskar et al. 2019); 1 off
  float frequency_penalty = 0;      // subtracted for each occurrence
  float presence_penalty = 0;       // subtracted once

  // DRY: a token that would extend a repetition of n >= dry_allowed_length tokens loses
  // multiplier * base^(n - allowed_length). No repetition reaches back over text that ends a breaker.
  float dry_multiplier = 0;           // >= 0; 0 off
  float dry_base = 1.75f;             // >= 1
  std::int32_t dry_allowed_length = 2;  // >= 0
  std::int32_t dry_last_n = 64;       // >= -1
  std::vector<std::string> dry_breakers = {"\n", ":", "\"", "*"};

  // Mirostat 2 (Basu et al. 2021) in place of all truncation stages: 0 off, 2 on.
  std::int32_t mirostat = 0;
  float mirostat_tau = 5;     // > 0: target surprise, bits
  float mirostat_eta = 0.1f;  // >= 0: learning rate

  std::vector<TokenBias> logit_bias = {};  // several of one token add up
  bool ignore_eos = false;            // no token that ends a turn, unless a grammar allows nothing else
  std::string sampling_order{kDefaultSamplingOrder};

  // Throws Error(usage) naming the field, Error(unsupported) for mirostat 1.
  void validate() const;
};

// What one sequence carries from token to token. Only mirostat needs it: copy it to save or branch a sequence.
struct SamplerState {
  float mirostat_mu = 0;  // bits
};

struct Sampled {
  std::int32_t id = 0;
  float probability = 1;  // under the distribution that was drawn from; 1 if greedy
};

// The choice is a function of (logits, options, seed, stream, position, history, mask, state): nothing is consumed, no
// neighbour matters, and a resumed sequence goes on as if never stopped. Equal logits: the lower id. It does not
// depend on compiler or instruction set. An object holds scratch memory: one per thread.
class Sampler {
 public:
  // table is needed for ignore_eos and for DRY. Throws what validate() throws, and Error(usage) for a biased id
  // outside the vocabulary or a missing table.
  Sampler(SamplingOptions options, std::int32_t vocab_size, std::shared_ptr<const TokenTable> table = nullptr);
  ~Sampler();
  Sampler(Sampler&&) noexcept;
  Sampler& operator=(Sampler&&) noexcept;

  const SamplingOptions& options() const;
  std::uint64_t seed() const;          // effective; the same seed gives the same text
  std::int32_t vocab_size() const;
  bool greedy() const;
  SamplerState initial_state() const;

  // logits [vocab_size]: raw; -infinity is a token that cannot be. position: index in its sequence of the token
  // chosen here. history: prompt and what was generated. allowed: bit id % 64 of word id / 64 says that a grammar
  // allows id; empty: no grammar, else (vocab_size + 63) / 64 words.
  // Throws Error(numeric) for NaN or +infinity, Error(failed) when no token is left, Error(usage) for sizes or ids
  // that do not fit the vocabulary.
  Sampled sample(std::span<const float> logits, std::int64_t position, std::span<const std::int32_t> history,
                 SamplerState& state, std::span<const std::uint64_t> allowed = {});

 private:
  struct Body;
  std::unique_ptr<Body> body_;
};

// A seed from the operating system, for when none was given.
std::uint64_t fresh_sampling_seed();

struct TokenLogprob {
  std::int32_t id = 0;
  float logprob = 0;  // natural logarithm, <= 0; -infinity where the logit is
};
struct Logprobs {
  TokenLogprob chosen;
  std::vector<TokenLogprob> top;  // descending, equal ones by id
};
// From the untruncated softmax of the raw logits, whatever the sampling options. n <= 0: no top; at most all
// tokens. Throws Error(numeric) for NaN or +infinity or all -infinity, Error(usage) for a chosen id outside.
Logprobs logprobs(std::span<const float> logits, std::int32_t n, std::int32_t chosen);

}  // namespace hz
