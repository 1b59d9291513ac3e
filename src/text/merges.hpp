// SPDX-License-Identifier: Apache-2.0
// Merges: the ranked pairs of a byte-pair encoding, and their application to a run of symbols.
#pragma once
#include <cstdint>
#include <vector>

#include "hanzo/io/sha256.hpp"
#include "src/text/vocab.hpp"

namespace hz::text::detail {

class Merges {
 public:
  struct Rule {
    std::uint32_t rank;  // lower is earlier; kNone: the pair does not merge
    TokenId result;
  };
  static constexpr std::uint32_t kNone = 0xFFFFFFFF;

  void reserve(std::size_t rules);
  // The first rule of a pair counts.
  void add(TokenId left, TokenId right, Rule rule);
  Rule find(TokenId left, TokenId right) const;
  std::size_t size() const { return count_; }
  void hash(io::Sha256& sha) const;  // all rules, by rank

  struct Symbol {
    TokenId id;            // -1: no token has this text; never merges
    std::uint32_t length;  // bytes
  };
  // Scratch of one thread.
  struct Scratch {
    struct Link {
      std::int32_t previous, next;
    };
    struct Candidate {
      std::uint32_t rank;
      std::int32_t left, right;  // symbols
      std::uint32_t length;      // of both together when the candidate was made
      TokenId result;
    };
    std::vector<Link> links;
    std::vector<Candidate> heap;
    std::vector<Rule> rules;
  };
  // Merges pairs, lowest rank first and leftmost among equals, until none is left. n symbols take n log n time.
  void apply(std::vector<Symbol>& symbols, Scratch& scratch) const;

 private:
  struct Slot {
    std::uint64_t key = ~0ULL;  // left << 32 | right; all ones: free
    Rule rule{kNone, -1};
  };
  void grow(std::size_t slots);
  void apply_short(std::vector<Symbol>& symbols, Scratch& scratch) const;
  void apply_long(std::vector<Symbol>& symbols, Scratch& scratch) const;

  std::vector<Slot> slots_;
  std::size_t count_ = 0;
  std::uint64_t seed_ = fresh_seed();
};

}  // namespace hz::text::detail
