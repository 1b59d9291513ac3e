// SPDX-License-Identifier: Apache-2.0
// Tokenizer::Body: everything that a tokenizer is made of.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "hanzo/text/tokenizer.hpp"
#include "src/text/algorithm.hpp"
#include "src/text/special_split.hpp"

namespace hz::text {

// Made in steps: the vocabulary first, which the other parts refer to; it must not move afterwards.
struct Tokenizer::Body {
  detail::Vocab vocab;
  std::unique_ptr<const detail::SpecialSplit> specials;
  std::unique_ptr<const detail::Algorithm> algorithm;
  TokenizerKind kind{};
  std::string pre;
  std::string origin;  // what decides ids and text beside the vocabulary and the merges, for hash()
  std::vector<TokenId> prefix, suffix;  // what add_special puts around a text
  bool add_bos = false, add_eos = false;
  bool add_space_prefix = false;
  bool clean_up = false;
};

}  // namespace hz::text
