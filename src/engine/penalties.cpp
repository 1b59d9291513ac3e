// SPDX-License-Identifier: Apache-2.0
// Repetition, frequency and presence penalties, and DRY: what the history takes from the logits.
#include <algorithm>
#include <limits>

#include "src/engine/stages.hpp"

namespace hz::engine {
namespace {

constexpr float kLargest = std::numeric_limits<float>::max();
constexpr float kInf = std::numeric_limits<float>::infinity();

// A penalty never bans a token, nor makes one infinitely likely.
float clamp_finite(double x) { return static_cast<float>(std::clamp(x, -static_cast<double>(kLargest), static_cast<double>(kLargest))); }

// change(id, logit) for each of `ids` (a set) that is in play.
template <class Change>
void change_some(Candidates& c, std::span<const std::int32_t> ids, std::span<const std::int32_t> value_of, Change&& change) {
  const auto apply = [&](std::int32_t id, float& logit) {
    if (logit > -kInf) logit = change(id, logit);
  };
  if (c.dense()) {
    const std::span<float> logits = c.writable();
    for (const std::int32_t id : ids) apply(id, logits[static_cast<std::size_t>(id)]);
    c.touched();
  } else {
    c.apply_scale_to_list();
    for (Candidate& t : c.list())
      if (value_of[static_cast<std::size_t>(t.id)] != 0) apply(t.id, t.logit);
    c.resort();
  }
}

double power(double base, std::int64_t n) {
  double result = 1;
  for (; n > 0 && result <= static_cast<double>(kLargest); n /= 2) {
    if (n % 2 == 1) result *= base;
    base *= base;
  }
  return result;
}

}  // namespace

void RepetitionPenalty::apply(Candidates& c, const SamplingOptions& o, std::span<const std::int32_t> history, std::int32_t vocab_size) {
  const std::span<const std::int32_t> window = last_of(history, o.repeat_last_n);
  if (window.empty() || (o.repeat_penalty == 1 && o.frequency_penalty == 0 && o.presence_penalty == 0)) return;
  counts_.resize(static_cast<std::size_t>(vocab_size), 0);
  seen_.clear();
  for (const std::int32_t id : window)
    if (counts_[static_cast<std::size_t>(id)]++ == 0) seen_.push_back(id);
  const auto repeat = static_cast<double>(o.repeat_penalty), frequency = static_cast<double>(o.frequency_penalty),
             presence = static_cast<double>(o.presence_penalty);
  change_some(c, seen_, counts_, [&](std::int32_t id, float logit) {
    double x = static_cast<double>(logit);
    x = x > 0 ? x / repeat : x * repeat;
    return clamp_finite(x - static_cast<double>(counts_[static_cast<std::size_t>(id)]) * frequency - presence);
  });
  for (const std::int32_t id : seen_) counts_[static_cast<std::size_t>(id)] = 0;
}

void DryPenalty::configure(const SamplingOptions& options, const TokenTable* table) {
  table_ = table;
  breakers_ = options.dry_breakers;
  longest_ = 0;
  for (const std::string& b : breakers_) longest_ = std::max(longest_, b.size());
  holds_.assign(table == nullptr ? 0 : static_cast<std::size_t>(table->size()), static_cast<signed char>(-1));
}

bool DryPenalty::holds_breaker(std::int32_t id) {
  if (static_cast<std::size_t>(id) >= holds_.size()) return false;
  signed char& known = holds_[static_cast<std::size_t>(id)];
  if (known < 0) {
    const std::string_view piece = table_->piece(id);
    known = std::any_of(breakers_.begin(), breakers_.end(), [&](const std::string& b) { return piece.find(b) != piece.npos; }) ? 1 : 0;
  }
  return known == 1;
}

// Does a breaker end inside the text of token i?
bool DryPenalty::breaks(std::span<const std::int32_t> history, std::size_t i) {
  if (holds_breaker(history[i])) return true;
  if (longest_ < 2 || table_ == nullptr) return false;
  std::string text{table_->piece(history[i])};
  const std::size_t own = text.size();
  for (std::size_t j = i; j > 0 && text.size() < own + longest_ - 1; --j) text.insert(0, table_->piece(history[j - 1]));
  const std::size_t start = text.size() - own;
  for (const std::string& b : breakers_) {
    const std::size_t at = text.find(b, start >= b.size() - 1 ? start - (b.size() - 1) : 0);
    if (at != text.npos && at + b.size() > start) return true;
  }
  return false;
}

void DryPenalty::apply(Candidates& c, const SamplingOptions& o, std::span<const std::int32_t> history) {
  const std::span<const std::int32_t> h = last_of(history, o.dry_last_n);
  const std::size_t n = h.size();
  if (o.dry_multiplier <= 0 || n < 2) return;
  // match_[j]: length of the common suffix of h and h without its last j tokens (the Z function of h reversed).
  const auto at = [&](std::size_t i) { return h[n - 1 - i]; };
  match_.assign(n, 0);
  std::size_t left = 0, right = 0, longest = 0;
  for (std::size_t j = 1; j < n; ++j) {
    std::size_t z = j < right ? std::min(right - j, static_cast<std::size_t>(match_[j - left])) : 0;
    while (j + z < n && at(z) == at(j + z)) ++z;
    if (j + z > right) left = j, right = j + z;
    match_[j] = static_cast<std::int32_t>(z);
    longest = std::max(longest, z);
  }
  std::size_t limit = 0;  // tokens at the end that no breaker cuts off
  while (limit < longest && !breaks(h, n - 1 - limit)) ++limit;
  const auto allowed = static_cast<std::size_t>(o.dry_allowed_length);
  if (limit < std::max<std::size_t>(allowed, 1)) return;

  touched_.clear();
  for (std::size_t j = 1; j < n; ++j) {
    const std::size_t length = std::min(static_cast<std::size_t>(match_[j]), limit);
    if (length < std::max<std::size_t>(allowed, 1)) continue;
    const std::int32_t next = at(j - 1);
    if (holds_breaker(next)) continue;
    if (static_cast<std::size_t>(next) >= best_.size()) best_.resize(static_cast<std::size_t>(next) + 1, 0);
    std::int32_t& best = best_[static_cast<std::size_t>(next)];
    if (best == 0) touched_.push_back(next);
    best = std::max(best, static_cast<std::int32_t>(length));
  }
  if (touched_.empty()) return;
  if (!c.dense())  // the list is looked up by id
    for (const Candidate& t : c.list())
      if (static_cast<std::size_t>(t.id) >= best_.size()) best_.resize(static_cast<std::size_t>(t.id) + 1, 0);
  change_some(c, touched_, best_, [&](std::int32_t id, float logit) {
    const std::int64_t extra = best_[static_cast<std::size_t>(id)] - static_cast<std::int64_t>(allowed);
    return clamp_finite(static_cast<double>(logit) - static_cast<double>(o.dry_multiplier) * power(static_cast<double>(o.dry_base), extra));
  });
  for (const std::int32_t id : touched_) best_[static_cast<std::size_t>(id)] = 0;
}

}  // namespace hz::engine
