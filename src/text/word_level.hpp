// SPDX-License-Identifier: Apache-2.0
// WordLevel: each piece is a token or unknown.
#pragma once
#include "src/text/pipeline.hpp"

namespace hz::text::detail {

class WordLevel : public PieceModel {
 public:
  explicit WordLevel(const Vocab& vocab) : vocab_(vocab) {}

  std::unique_ptr<PieceEncoder> start(PieceOutput& out) const override { return std::make_unique<Encoder>(vocab_, out); }

 private:
  class Encoder : public PieceEncoder {
   public:
    Encoder(const Vocab& vocab, PieceOutput& out) : vocab_(vocab), out_(out) {}
    void piece(std::string_view text, std::size_t begin, std::size_t end, bool) override {
      const TokenId id = vocab_.texts.find(text.substr(begin, end - begin));
      if (id >= 0 && vocab_.in_text(id))
        out_.put(id, begin, end);
      else if (const auto unk = vocab_.unknown())
        out_.put(*unk, begin, end);
    }

   private:
    const Vocab& vocab_;
    PieceOutput& out_;
  };
  const Vocab& vocab_;
};

}  // namespace hz::text::detail
