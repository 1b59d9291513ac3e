// SPDX-License-Identifier: Apache-2.0
// Candidates: the tokens still in play. All of the vocabulary in id order ("dense"), until a stage selects a list.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace hz::engine {

struct Candidate {
  float logit;
  std::int32_t id;
};
// The total order of tokens: greater logit first, equal ones by id.
inline bool before(const Candidate& a, const Candidate& b) { return a.logit > b.logit || (a.logit == b.logit && a.id < b.id); }

// Logits are never NaN or +infinity here; -infinity is a token that is out. The probability of a token is
// proportional to e^((logit - max) scale): temperature stages only change the scale.
class Candidates {
 public:
  // Borrows logits until the next reset. Throws Error(numeric) naming the token of a NaN or +infinity;
  // position < 0: none to name.
  void reset(std::span<const float> logits, std::int64_t position);

  bool dense() const { return dense_; }
  // Tokens left; counts -infinity ones while dense.
  std::size_t size() const { return dense_ ? logits_.size() : list_.size(); }
  float scale() const { return scale_; }
  void divide_by(double temperature);  // > 0

  // Dense: a copy that may be changed, with the scale already multiplied in. Call touched() after the changes.
  std::span<float> writable();
  std::span<const float> logits() const { return logits_; }
  void touched() { blocks_valid_ = greatest_valid_ = false; }
  // Sparse: sorted by `before`. After changing logits: resort().
  std::vector<Candidate>& list() { return list_; }
  void apply_scale_to_list();
  void resort();

  Candidate greatest();               // id -1 when no token is left
  float max() { return greatest().logit; }
  // Weights e^((logit - max) scale) in id order (dense) or list order, and their sum.
  std::span<const float> weights();
  double total();
  // Natural logarithm of this token's probability.
  double log_probability(float logit, double log_total) {
    return (static_cast<double>(logit) - static_cast<double>(max())) * static_cast<double>(scale_) - log_total;
  }

  // Selections; the result is always a sorted list.
  void keep_top(std::size_t k);
  void keep_at_least(double threshold, std::size_t min_keep);  // logit >= threshold
  void keep_mass(double share, std::size_t min_keep);          // the shortest prefix with at least share of the total
  void keep_list(std::vector<Candidate> list);                 // any order
  // The k first tokens, sorted; leaves the candidates as they are.
  std::span<const Candidate> first(std::size_t k);

 private:
  void find_blocks();
  void adopt_first(std::size_t n);  // the list becomes the n first of what first() returned last
  void collect(float threshold, std::vector<Candidate>& out) const;

  static constexpr std::size_t kBlock = 64;
  std::span<const float> logits_;
  std::vector<float> own_, block_max_, block_scratch_, weights_;
  std::vector<Candidate> list_, first_, sort_scratch_;
  Candidate greatest_{};  // while dense
  bool dense_ = true, blocks_valid_ = false, greatest_valid_ = false;
  float scale_ = 1;
};

}  // namespace hz::engine
