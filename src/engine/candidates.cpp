// SPDX-License-Identifier: Apache-2.0
// Candidates: selection by the maxima of blocks of 64, so that a few of many are found in one pass and no full sort.
#include "src/engine/candidates.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <utility>

#include "hanzo/core/error.hpp"
#include "src/engine/exact_math.hpp"

namespace hz::engine {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kLargest = std::numeric_limits<float>::max();

// True when some value is NaN or +infinity. Sixteen lanes, so that it vectorises.
bool any_above_finite(std::span<const float> x) {
  std::uint32_t bad[16] = {};
  std::size_t i = 0;
  for (; i + 16 <= x.size(); i += 16)
    for (std::size_t j = 0; j < 16; ++j) bad[j] |= x[i + j] <= kLargest ? 0u : 1u;
  for (; i < x.size(); ++i) bad[0] |= x[i] <= kLargest ? 0u : 1u;
  std::uint32_t any = 0;
  for (const std::uint32_t b : bad) any |= b;
  return any != 0;
}

float max_of(const float* x, std::size_t n) {
  float lane[16];
  for (float& l : lane) l = -kInf;
  std::size_t i = 0;
  for (; i + 16 <= n; i += 16)
    for (std::size_t j = 0; j < 16; ++j) lane[j] = x[i + j] > lane[j] ? x[i + j] : lane[j];
  for (; i < n; ++i) lane[0] = x[i] > lane[0] ? x[i] : lane[0];
  float m = lane[0];
  for (const float l : lane) m = l > m ? l : m;
  return m;
}

// Sorts by `before` what is in ascending order of ids: three stable passes over the bits of the logits.
constexpr std::size_t kRadixFrom = 2048;
void radix_sort(std::vector<Candidate>& v, std::vector<Candidate>& scratch) {
  constexpr unsigned kBits = 11, kDigits = 3;
  constexpr std::size_t kBuckets = std::size_t{1} << kBits;
  const auto key = [](float x) {  // descending; + 0 makes one zero of two
    const auto bits = std::bit_cast<std::uint32_t>(x + 0.0f);
    return (bits & 0x80000000u) != 0 ? bits : ~(bits | 0x80000000u);
  };
  std::vector<std::uint32_t> counts(kDigits * kBuckets, 0);
  const auto slot = [&](std::uint32_t k, unsigned digit) -> std::uint32_t& {
    return counts[digit * kBuckets + ((k >> (digit * kBits)) & (kBuckets - 1))];
  };
  for (const Candidate& c : v)
    for (unsigned digit = 0; digit < kDigits; ++digit) ++slot(key(c.logit), digit);
  for (unsigned digit = 0; digit < kDigits; ++digit) {
    std::uint32_t sum = 0;
    for (std::size_t b = 0; b < kBuckets; ++b) sum += std::exchange(counts[digit * kBuckets + b], sum);
  }
  scratch.resize(v.size());
  for (unsigned digit = 0; digit < kDigits; ++digit) {
    for (const Candidate& c : v) scratch[slot(key(c.logit), digit)++] = c;
    std::swap(v, scratch);
  }
}

float clamp_finite(float x) { return x > kLargest ? kLargest : x; }

}  // namespace

void Candidates::reset(std::span<const float> logits, std::int64_t position) {
  if (any_above_finite(logits)) {
    const auto bad = std::find_if(logits.begin(), logits.end(), [](float x) { return !(x <= kLargest); });
    throw Error(ErrorKind::numeric,
                "the logit of token " + std::to_string(bad - logits.begin()) + " is " + (std::isnan(*bad) ? "NaN" : "+infinity"),
                position >= 0 ? "position " + std::to_string(position) : "logprobs",
                "the model's weights or its input are damaged; nothing was sampled");
  }
  logits_ = logits;
  dense_ = true;
  touched();
  scale_ = 1;
}

void Candidates::divide_by(double temperature) {
  // Beyond 1e30 every difference is infinite or none, and an infinite scale would make 0 * inf of the greatest.
  scale_ = static_cast<float>(std::min(static_cast<double>(scale_) / temperature, 1e30));
}

std::span<float> Candidates::writable() {
  if (logits_.data() != own_.data() || own_.empty()) {
    own_.assign(logits_.begin(), logits_.end());
    logits_ = own_;
  }
  if (scale_ != 1) {
    for (float& x : own_) x = clamp_finite(x * scale_);
    scale_ = 1;
    touched();
  }
  return own_;
}

void Candidates::apply_scale_to_list() {
  for (Candidate& c : list_) c.logit = clamp_finite(c.logit * scale_);
  scale_ = 1;
}

void Candidates::resort() { std::sort(list_.begin(), list_.end(), before); }

void Candidates::find_blocks() {
  if (blocks_valid_) return;
  const std::size_t blocks = (logits_.size() + kBlock - 1) / kBlock;
  block_max_.resize(blocks);
  for (std::size_t b = 0; b < blocks; ++b)
    block_max_[b] = max_of(logits_.data() + b * kBlock, std::min(kBlock, logits_.size() - b * kBlock));
  blocks_valid_ = true;
}

void Candidates::collect(float threshold, std::vector<Candidate>& out) const {
  out.clear();
  for (std::size_t b = 0; b < block_max_.size(); ++b) {
    if (!(block_max_[b] >= threshold)) continue;
    const std::size_t end = std::min(logits_.size(), (b + 1) * kBlock);
    for (std::size_t i = b * kBlock; i < end; ++i)
      if (logits_[i] >= threshold && logits_[i] > -kInf) out.push_back({logits_[i], static_cast<std::int32_t>(i)});
  }
}

Candidate Candidates::greatest() {
  if (!dense_) return list_.empty() ? Candidate{-kInf, -1} : list_[0];
  if (greatest_valid_) return greatest_;
  find_blocks();
  greatest_ = {-kInf, -1};
  greatest_valid_ = true;
  const auto best = std::max_element(block_max_.begin(), block_max_.end());  // the first of equal ones
  if (best == block_max_.end() || *best == -kInf) return greatest_;
  std::size_t i = static_cast<std::size_t>(best - block_max_.begin()) * kBlock;
  while (logits_[i] != *best) ++i;
  return greatest_ = {logits_[i], static_cast<std::int32_t>(i)};
}

std::span<const float> Candidates::weights() {
  const float greatest_logit = max();
  weights_.resize(size());
  if (dense_) {
    exp_weights(logits_, greatest_logit, scale_, weights_.data());
  } else {
    for (std::size_t i = 0; i < list_.size(); ++i) weights_[i] = exp_weight(list_[i].logit, greatest_logit, scale_);
  }
  return weights_;
}

double Candidates::total() { return sum16(weights()); }

std::span<const Candidate> Candidates::first(std::size_t k) {
  if (!dense_) return std::span<const Candidate>(list_).first(std::min(k, list_.size()));
  find_blocks();
  // Each of the k greatest blocks holds a token at or above the k-th greatest block maximum.
  float threshold = -kInf;
  if (k < block_max_.size()) {
    block_scratch_ = block_max_;
    const auto kth = block_scratch_.begin() + static_cast<std::ptrdiff_t>(k > 0 ? k - 1 : 0);
    std::nth_element(block_scratch_.begin(), kth, block_scratch_.end(), std::greater<>());
    threshold = *kth;
  }
  collect(threshold, first_);
  if (first_.size() > kRadixFrom) {
    radix_sort(first_, sort_scratch_);
    first_.resize(std::min(k, first_.size()));
    return first_;
  }
  if (first_.size() > k) {
    std::nth_element(first_.begin(), first_.begin() + static_cast<std::ptrdiff_t>(k), first_.end(), before);
    first_.resize(k);
  }
  std::sort(first_.begin(), first_.end(), before);
  return first_;
}

void Candidates::adopt_first(std::size_t n) {
  if (dense_) std::swap(list_, first_);
  dense_ = false;
  list_.resize(std::min(n, list_.size()));
}

void Candidates::keep_top(std::size_t k) {
  if (dense_) {
    first(k);
    adopt_first(k);
  } else if (k < list_.size()) {
    list_.resize(k);
  }
}

void Candidates::keep_at_least(double threshold, std::size_t min_keep) {
  const auto passes = [&](const Candidate& c) { return static_cast<double>(c.logit) >= threshold; };
  if (dense_) {
    find_blocks();
    auto low = static_cast<float>(std::max(threshold, -static_cast<double>(kLargest)));
    if (static_cast<double>(low) > threshold) low = std::nextafter(low, -kInf);  // collect more rather than less
    std::vector<Candidate> found;
    std::swap(found, list_);
    collect(low, found);
    found.erase(std::remove_if(found.begin(), found.end(), [&](const Candidate& c) { return !passes(c); }), found.end());
    if (found.size() < min_keep) return keep_top(min_keep);
    keep_list(std::move(found));
  } else {
    const auto end = std::find_if_not(list_.begin(), list_.end(), passes);
    list_.resize(std::min(list_.size(), std::max(static_cast<std::size_t>(end - list_.begin()), min_keep)));
  }
}

void Candidates::keep_mass(double share, std::size_t min_keep) {
  const double wanted = share * total();
  const float greatest_logit = max();
  // Most distributions have their mass in a few tokens; for flat ones all are sorted.
  for (const std::size_t reach : {std::size_t{128}, std::size_t{512}, size()}) {
    const std::span<const Candidate> prefix = first(reach);
    double mass = 0;
    for (std::size_t i = 0; i < prefix.size(); ++i) {
      mass += static_cast<double>(exp_weight(prefix[i].logit, greatest_logit, scale_));
      if (mass >= wanted && i + 1 >= min_keep) return adopt_first(i + 1);
    }
    if (prefix.size() < reach || reach >= size()) return adopt_first(prefix.size());  // rounding: all of them
  }
}

void Candidates::keep_list(std::vector<Candidate> list) {
  list_ = std::move(list);
  dense_ = false;
  resort();
}

}  // namespace hz::engine
