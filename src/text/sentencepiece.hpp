// SPDX-License-Identifier: Apache-2.0
// SentencePieceBpe: merges of neighbours whose union is a token, best score first (Kudo and Richardson 2018).
#pragma once
#include "src/text/pipeline.hpp"

namespace hz::text::detail {

// Puts what no token covers: its byte tokens, or the unknown token once for it all.
class ByteFallback {
 public:
  explicit ByteFallback(const Vocab& vocab) : bytes_(byte_tokens(vocab)), unk_(vocab.unknown()) {}
  void put(std::string_view text, std::size_t begin, std::size_t end, PieceOutput& out) const;
  bool in_bytes() const { return bytes_.complete; }

 private:
  ByteTokens bytes_;
  std::optional<TokenId> unk_;
};

class SentencePieceBpe : public PieceModel {
 public:
  explicit SentencePieceBpe(const Vocab& vocab);
  std::unique_ptr<PieceEncoder> start(PieceOutput& out) const override;

 private:
  class Encoder;
  TokenId find(std::string_view text) const;

  const Vocab& vocab_;
  ByteFallback fallback_;
  std::size_t longest_ = 0;  // bytes of the longest token
  bool words_ = true;        // no token goes on behind a space mark, so that each word can be merged by itself
};

}  // namespace hz::text::detail
