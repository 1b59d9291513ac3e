// SPDX-License-Identifier: Apache-2.0
// The vocabulary, merges and special tokens of a tokenizer.json.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "src/text/hf/json.hpp"
#include "src/text/merges.hpp"
#include "src/text/vocab.hpp"

namespace hz::text::hf {

// BPE, WordPiece, WordLevel or Unigram; from the fields of old files that do not say.
std::string model_type(const Node& model);

// All tokens of the model and the added ones. Ids that none has get a placeholder, as long as most have one.
detail::Vocab read_vocab(const Node& model, const Node& added);

// The rules of a BPE model; continuing: what the vocabulary puts before symbols inside a piece.
detail::Merges read_merges(const Node& rules, const detail::Vocab& vocab, const std::string& continuing);

// Roles from tokenizer_config.json and the model's own unknown token.
void read_roles(detail::Vocab& vocab, const Node& model, const Node& config);

// The ids before and behind a text, from the post_processor.
void read_frame(const Node& processor, const detail::Vocab& vocab, std::vector<TokenId>& prefix, std::vector<TokenId>& suffix);

}  // namespace hz::text::hf
