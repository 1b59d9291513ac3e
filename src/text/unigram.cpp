// SPDX-License-Identifier: Apache-2.0
// Unigram: a forward pass over all tokens at all places, then the best path backwards.
#include "src/text/unigram.hpp"

#include <algorithm>
#include <limits>

#include "hanzo/text/utf8.hpp"
#include "src/core/stop_check.hpp"

namespace hz::text::detail {
namespace {

constexpr double kUnknownPenalty = 10.0;  // below the lowest score, as in SentencePiece

}  // namespace

Unigram::Unigram(const Vocab& vocab, bool byte_fallback)
    : vocab_(vocab), fallback_(vocab), unk_(vocab.unknown()), in_bytes_(byte_fallback && fallback_.in_bytes()) {
  std::vector<std::pair<std::string_view, std::int32_t>> entries;
  double lowest = std::numeric_limits<double>::max();
  for (TokenId id = 0; id < vocab.size(); ++id) {
    const TokenType type = vocab.type(id);
    if (type == TokenType::normal) lowest = std::min(lowest, vocab.score(id));
    if ((type == TokenType::normal || type == TokenType::user_defined) && vocab.in_text(id))
      entries.emplace_back(vocab.texts[id], id);
  }
  if (entries.empty()) lowest = 0;
  unknown_score_ = lowest - kUnknownPenalty;
  trie_ = ByteTrie(std::move(entries));
}

class Unigram::Encoder : public PieceEncoder {
 public:
  Encoder(const Unigram& model, PieceOutput& out) : model_(model), out_(out) {}

  void piece(std::string_view whole, std::size_t begin, std::size_t end, bool valid) override {
    if (!valid) return unknown(whole, begin, end);
    forward(whole.substr(begin, end - begin));
    path_.clear();
    for (std::size_t at = end - begin; at > 0; at = best_[at].from) path_.push_back(at);
    for (std::size_t k = path_.size(); k-- > 0;) {
      // Unknown characters in a row are one unknown stretch.
      const std::size_t from = best_[path_[k]].from;
      while (best_[path_[k]].id < 0 && k > 0 && best_[path_[k - 1]].id < 0) --k;
      const std::size_t to = path_[k];
      if (best_[to].id >= 0)
        out_.put(best_[to].id, begin + from, begin + to);
      else
        unknown(whole, begin + from, begin + to);
    }
  }

 private:
  struct Best {
    double score = -std::numeric_limits<double>::infinity();
    std::size_t from = 0;  // where the last token begins
    TokenId id = -1;       // -1: an unknown character
  };

  void forward(std::string_view text) {
    best_.assign(text.size() + 1, Best{});
    best_[0].score = 0;
    StopCheck check;
    for (std::size_t at = 0; at < text.size();) {
      check();
      const std::size_t character = decode_utf8(text, at).length;
      const double before = best_[at].score;
      const auto offer = [&](std::size_t length, double score, TokenId id) {
        Best& b = best_[at + length];
        if (before + score > b.score) b = {before + score, at, id};
      };
      bool covered = false;  // a token is exactly this character
      model_.trie_.prefixes(text, at, [&](std::size_t length, std::int32_t id) {
        covered = covered || length == character;
        offer(length, model_.vocab_.type(id) == TokenType::user_defined ? 0.0 : model_.vocab_.score(id), id);
        return true;
      });
      if (!covered) offer(character, model_.unknown_score_, -1);
      at += character;
    }
  }

  void unknown(std::string_view whole, std::size_t begin, std::size_t end) {
    if (model_.in_bytes_)
      model_.fallback_.put(whole, begin, end, out_);
    else if (model_.unk_)
      out_.put(*model_.unk_, begin, end);
  }

  const Unigram& model_;
  PieceOutput& out_;
  std::vector<Best> best_;
  std::vector<std::size_t> path_;
};

std::unique_ptr<PieceEncoder> Unigram::start(PieceOutput& out) const { return std::make_unique<Encoder>(*this, out); }

}  // namespace hz::text::detail
