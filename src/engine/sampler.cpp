// SPDX-License-Identifier: Apache-2.0
// Sampler: bias and mask, the stages in their order, and one draw from a counter-based number.
#include <algorithm>
#include <bit>
#include <limits>
#include <utility>

#include "hanzo/core/error.hpp"
#include "hanzo/core/parallel.hpp"
#include "hanzo/core/random.hpp"
#include "hanzo/engine/sampling.hpp"
#include "src/engine/candidates.hpp"
#include "src/engine/exact_math.hpp"
#include "src/engine/stages.hpp"

namespace hz {
namespace {

using engine::Candidate;
using engine::Candidates;

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kLargest = std::numeric_limits<float>::max();
constexpr std::size_t kDrawBlock = 1024;  // tokens whose weights are summed before the draw looks closer

void apply_mask(std::span<float> logits, std::span<const std::uint64_t> mask) {
  for (std::size_t word = 0; word < mask.size(); ++word) {
    if (mask[word] == ~0ull) continue;
    const std::size_t begin = word * 64, end = std::min(begin + 64, logits.size());
    if (mask[word] == 0) {
      std::fill(logits.begin() + static_cast<std::ptrdiff_t>(begin), logits.begin() + static_cast<std::ptrdiff_t>(end), -kInf);
    } else {
      for (std::uint64_t out = ~mask[word]; out != 0; out &= out - 1) {
        const std::size_t i = begin + static_cast<std::size_t>(std::countr_zero(out));
        if (i < end) logits[i] = -kInf;
      }
    }
  }
}

// The two random numbers of one position: 53 and 24 bits, in [0, 1).
struct Chances {
  double draw;
  float xtc;
};
Chances chances_at(std::uint64_t seed, std::uint64_t stream, std::int64_t position) {
  const auto w = philox(seed, stream, static_cast<std::uint64_t>(position));
  const std::uint64_t bits = (static_cast<std::uint64_t>(w[0]) << 32) | w[1];
  return {static_cast<double>(bits >> 11) * 0x1p-53, static_cast<float>(w[2] >> 8) * 0x1p-24f};
}

// The first token whose cumulative weight exceeds u times the total: over a list in its order, over the whole
// vocabulary by id, there in blocks so that the sums are short.
Sampled draw(Candidates& c, double u) {
  const std::span<const float> w = c.weights();
  const std::size_t block = c.dense() ? kDrawBlock : std::max<std::size_t>(w.size(), 1);
  std::vector<double> sums;
  double total = 0;
  for (std::size_t b = 0; b < w.size(); b += block) {
    double sum = 0;
    const std::span<const float> part = w.subspan(b, std::min(block, w.size() - b));
    if (c.dense()) sum = engine::sum16(part);
    else for (const float x : part) sum += static_cast<double>(x);
    sums.push_back(sum);
    total += sum;
  }
  double left = u * total;
  std::size_t b = 0, last = 0;
  while (b + 1 < sums.size() && left >= sums[b]) left -= sums[b++];
  while (b > 0 && sums[b] <= 0) --b;  // rounding may step past the last block with any weight
  std::size_t chosen = w.size();
  for (std::size_t i = b * block; i < std::min((b + 1) * block, w.size()); ++i) {
    if (!(w[i] > 0)) continue;
    last = i;
    if (left < static_cast<double>(w[i])) {
      chosen = i;
      break;
    }
    left -= static_cast<double>(w[i]);
  }
  if (chosen == w.size()) chosen = last;
  const std::int32_t id = c.dense() ? static_cast<std::int32_t>(chosen) : c.list()[chosen].id;
  return {id, static_cast<float>(static_cast<double>(w[chosen]) / total)};
}

}  // namespace

struct Sampler::Body {
  SamplingOptions options;
  std::vector<SamplingStage> order;
  std::int32_t vocab_size = 0;
  std::shared_ptr<const TokenTable> table;
  std::uint64_t seed = 0;
  std::int32_t reach = 0;  // tokens of the history that some stage looks at; -1 all
  Candidates candidates;
  engine::RepetitionPenalty repetition;
  engine::DryPenalty dry;

  bool greedy() const { return options.temperature <= 0; }
  std::size_t keep() const { return static_cast<std::size_t>(std::max(options.min_keep, 1)); }

  void check(std::span<const float> logits, std::span<const std::int32_t> history, std::span<const std::uint64_t> allowed) const;
  void apply_bias_and_mask(std::span<const std::uint64_t> allowed);
  void run(SamplingStage stage, std::span<const std::int32_t> history, float xtc_chance);
  [[noreturn]] void fail_empty(std::int64_t position, bool masked) const;
};

Sampler::Sampler(SamplingOptions options, std::int32_t vocab_size, std::shared_ptr<const TokenTable> table)
    : body_(std::make_unique<Body>()) {
  options.validate();
  if (vocab_size <= 0) throw Error(ErrorKind::usage, "the vocabulary has " + std::to_string(vocab_size) + " tokens", "Sampler");
  for (const TokenBias& b : options.logit_bias)
    if (b.id >= vocab_size)
      throw Error(ErrorKind::usage, "logit_bias names token " + std::to_string(b.id) + ", the vocabulary has " + std::to_string(vocab_size),
                  "sampling options");
  if (table == nullptr && (options.ignore_eos || (options.dry_multiplier > 0 && !options.dry_breakers.empty())))
    throw Error(ErrorKind::usage, std::string(options.ignore_eos ? "ignore_eos" : "DRY with breakers") + " needs the vocabulary's texts",
                "Sampler", "pass TokenTable::from(tokenizer)");
  Body& b = *body_;
  b.order = parse_sampling_order(options.sampling_order);
  b.seed = options.seed.has_value() ? *options.seed : fresh_sampling_seed();
  b.reach = options.repeat_last_n;
  if (options.dry_multiplier > 0) b.reach = b.reach < 0 || options.dry_last_n < 0 ? -1 : std::max(b.reach, options.dry_last_n);
  b.dry.configure(options, table.get());
  b.options = std::move(options);
  b.vocab_size = vocab_size;
  b.table = std::move(table);
}
Sampler::~Sampler() = default;
Sampler::Sampler(Sampler&&) noexcept = default;
Sampler& Sampler::operator=(Sampler&&) noexcept = default;

const SamplingOptions& Sampler::options() const { return body_->options; }
std::uint64_t Sampler::seed() const { return body_->seed; }
std::int32_t Sampler::vocab_size() const { return body_->vocab_size; }
bool Sampler::greedy() const { return body_->greedy(); }
SamplerState Sampler::initial_state() const { return {.mirostat_mu = 2 * body_->options.mirostat_tau}; }

void Sampler::Body::check(std::span<const float> logits, std::span<const std::int32_t> history,
                          std::span<const std::uint64_t> allowed) const {
  const auto vocab = static_cast<std::size_t>(vocab_size);
  if (logits.size() != vocab)
    throw Error(ErrorKind::usage, "got " + std::to_string(logits.size()) + " logits for " + std::to_string(vocab_size) + " tokens",
                "Sampler::sample");
  if (!allowed.empty() && allowed.size() != (vocab + 63) / 64)
    throw Error(ErrorKind::usage,
                "the mask has " + std::to_string(allowed.size()) + " words, " + std::to_string(vocab_size) + " tokens need " +
                    std::to_string((vocab + 63) / 64),
                "Sampler::sample");
  for (const std::int32_t id : engine::last_of(history, reach))
    if (id < 0 || id >= vocab_size)
      throw Error(ErrorKind::usage, "the history has token " + std::to_string(id) + ", the vocabulary " + std::to_string(vocab_size),
                  "Sampler::sample");
}

void Sampler::Body::fail_empty(std::int64_t position, bool masked) const {
  throw Error(
      ErrorKind::failed,
      masked ? "no token that the grammar allows is left to choose from" : "no token is left to choose from: every logit is -infinity",
      "position " + std::to_string(position), "check the logit_bias, the grammar and the model");
}

void Sampler::Body::apply_bias_and_mask(std::span<const std::uint64_t> allowed) {
  if (options.logit_bias.empty() && allowed.empty() && !options.ignore_eos) return;
  const std::span<float> logits = candidates.writable();
  for (const TokenBias& b : options.logit_bias) {
    float& x = logits[static_cast<std::size_t>(b.id)];
    x = std::min(x + b.bias, kLargest);
  }
  apply_mask(logits, allowed);
  if (options.ignore_eos) {
    std::vector<std::pair<std::size_t, float>> ends;
    for (const std::int32_t id : table->end_ids()) {
      if (id >= vocab_size) continue;
      float& x = logits[static_cast<std::size_t>(id)];
      ends.emplace_back(static_cast<std::size_t>(id), x);
      x = -kInf;
    }
    candidates.touched();
    if (!allowed.empty() && candidates.greatest().id < 0)  // the grammar is at its end: that stands
      for (const auto& [id, x] : ends) logits[id] = x;
  }
  candidates.touched();
}

void Sampler::Body::run(SamplingStage stage, std::span<const std::int32_t> history, float xtc_chance) {
  const SamplingOptions& o = options;
  if (stage == SamplingStage::penalties) return repetition.apply(candidates, o, history, vocab_size);
  if (stage == SamplingStage::dry) return dry.apply(candidates, o, history);
  if (greedy()) return;
  if (stage == SamplingStage::temperature) return engine::apply_temperature(candidates, o);
  if (o.mirostat != 0) return;
  switch (stage) {
    case SamplingStage::top_n_sigma: return engine::keep_top_n_sigma(candidates, o.top_n_sigma, keep());
    case SamplingStage::top_k:
      if (o.top_k > 0 && o.top_k < vocab_size) candidates.keep_top(static_cast<std::size_t>(o.top_k));
      return;
    case SamplingStage::typical: return engine::keep_typical(candidates, o.typical_p, keep());
    case SamplingStage::top_p:
      if (o.top_p < 1) candidates.keep_mass(static_cast<double>(o.top_p), keep());
      return;
    case SamplingStage::min_p: return engine::keep_min_p(candidates, o.min_p, keep());
    case SamplingStage::xtc:
      if (xtc_chance < o.xtc_probability && o.xtc_threshold <= 0.5f) engine::exclude_top_choices(candidates, o.xtc_threshold, keep());
      return;
    default: return;
  }
}

Sampled Sampler::sample(std::span<const float> logits, std::int64_t position, std::span<const std::int32_t> history, SamplerState& state,
                        std::span<const std::uint64_t> allowed) {
  Body& b = *body_;
  const IeeeMode ieee;
  b.check(logits, history, allowed);
  b.candidates.reset(logits, position);
  b.apply_bias_and_mask(allowed);
  if (b.candidates.greatest().id < 0) b.fail_empty(position, !allowed.empty());
  const Chances chances = chances_at(b.seed, b.options.stream, position);
  for (const SamplingStage stage : b.order) b.run(stage, history, chances.xtc);
  if (b.greedy()) return {b.candidates.greatest().id, 1};
  if (b.options.mirostat == 0) return draw(b.candidates, chances.draw);

  engine::keep_mirostat(b.candidates, state.mirostat_mu);
  const Sampled sampled = draw(b.candidates, chances.draw);
  const double surprise = -engine::log64(static_cast<double>(sampled.probability)) * 0x1.71547652b82fep+0;
  const double error = surprise - static_cast<double>(b.options.mirostat_tau);
  state.mirostat_mu = static_cast<float>(static_cast<double>(state.mirostat_mu) - static_cast<double>(b.options.mirostat_eta) * error);
  return sampled;
}

}  // namespace hz
