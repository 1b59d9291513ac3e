// SPDX-License-Identifier: Apache-2.0
// SentencePieceBpe: a heap of neighbouring pairs over a linked list of symbols.
#include "src/text/sentencepiece.hpp"

#include <algorithm>
#include <unordered_map>

#include "hanzo/text/utf8.hpp"
#include "src/core/stop_check.hpp"

namespace hz::text::detail {

void ByteFallback::put(std::string_view text, std::size_t begin, std::size_t end, PieceOutput& out) const {
  const auto id_of = [&](std::size_t i) { return bytes_.ids[static_cast<unsigned char>(text[i])]; };
  bool all = true;
  for (std::size_t i = begin; i < end; ++i) all = all && id_of(i) >= 0;
  if (all)
    for (std::size_t i = begin; i < end; ++i) out.put(id_of(i), i, i + 1);
  else if (unk_)
    out.put(*unk_, begin, end);
}

namespace {

// The first space mark at or behind `from` that follows something else; text.size() when there is none.
std::size_t next_word(std::string_view text, std::size_t from) {
  for (std::size_t at = from; (at = text.find(kSpaceMark, at)) != std::string_view::npos; at += kSpaceMark.size())
    if (at > 0 && !text.substr(0, at).ends_with(kSpaceMark)) return at;
  return text.size();
}

}  // namespace

SentencePieceBpe::SentencePieceBpe(const Vocab& vocab) : vocab_(vocab), fallback_(vocab) {
  for (TokenId id = 0; id < vocab.size(); ++id) {
    const std::string_view text = vocab.texts[id];
    longest_ = std::max(longest_, text.size());
    if (vocab.in_text(id) && next_word(text, 0) < text.size()) words_ = false;
  }
}

// Tokens that text may become; control tokens are not among them, whatever their spelling.
TokenId SentencePieceBpe::find(std::string_view text) const {
  if (text.size() > longest_) return -1;
  const TokenId id = vocab_.texts.find(text);
  return id >= 0 && vocab_.in_text(id) ? id : -1;
}

class SentencePieceBpe::Encoder : public PieceEncoder {
 public:
  Encoder(const SentencePieceBpe& model, PieceOutput& out) : model_(model), out_(out) {}

  void piece(std::string_view whole, std::size_t begin, std::size_t end, bool valid) override {
    if (!valid) {
      for (; begin < end; ++begin) model_.fallback_.put(whole, begin, begin + 1, out_);
      return;
    }
    text_ = whole.substr(0, end);
    while (begin < end) {
      const std::size_t stop = model_.words_ ? next_word(text_, begin + 1) : end;
      split(begin, stop);
      merge();
      for (std::int32_t i = 0; i >= 0; i = at(i).next) emit(at(i));
      begin = stop;
      check_();
    }
  }

 private:
  struct Symbol {
    std::size_t begin;
    std::uint32_t length;  // 0: merged into its left neighbour
    TokenId id;            // -1: no token
    std::int32_t previous, next;
  };
  struct Candidate {
    double score;
    std::int32_t left, right;
    std::uint32_t length;  // of both together when the candidate was made
    TokenId id;
    bool operator<(const Candidate& o) const { return score != o.score ? score < o.score : left > o.left; }
  };

  Symbol& at(std::int32_t i) { return symbols_[static_cast<std::size_t>(i)]; }

  void split(std::size_t begin, std::size_t end) {
    symbols_.clear();
    for (std::int32_t i = 0; begin < end; ++i) {
      const unsigned length = decode_utf8(text_, begin).length;
      check_();
      symbols_.push_back({begin, length, model_.find(text_.substr(begin, length)), i - 1, i + 1});
      begin += length;
    }
    symbols_.back().next = -1;
  }

  bool candidate(std::int32_t left, std::int32_t right) {
    check_();
    const Symbol &l = at(left), &r = at(right);
    const std::uint32_t length = l.length + r.length;
    const TokenId id = model_.find(text_.substr(l.begin, length));
    if (id < 0) return false;
    heap_.push_back({model_.vocab_.score(id), left, right, length, id});
    if (model_.vocab_.type(id) == TokenType::unused) halves_[id] = l.length;
    return true;
  }

  void merge() {
    heap_.clear();
    for (std::int32_t i = 0; i + 1 < static_cast<std::int32_t>(symbols_.size()); ++i) candidate(i, i + 1);
    std::make_heap(heap_.begin(), heap_.end());
    while (!heap_.empty()) {
      std::pop_heap(heap_.begin(), heap_.end());
      const Candidate c = heap_.back();
      heap_.pop_back();
      Symbol &left = at(c.left), &right = at(c.right);
      if (left.length == 0 || right.length == 0 || left.length + right.length != c.length) continue;  // outdated
      left.length = c.length;
      left.id = c.id;
      right.length = 0;
      left.next = right.next;
      if (left.next >= 0) at(left.next).previous = c.left;
      if (left.previous >= 0 && candidate(left.previous, c.left)) std::push_heap(heap_.begin(), heap_.end());
      if (left.next >= 0 && candidate(c.left, left.next)) std::push_heap(heap_.begin(), heap_.end());
    }
  }

  // An unused token only served to reach a longer one; what is left of it goes back into its halves.
  void emit(const Symbol& symbol) {
    check_();
    pending_.assign(1, {symbol.begin, symbol.length, symbol.id});
    while (!pending_.empty()) {
      const Part p = pending_.back();
      pending_.pop_back();
      const auto half = p.id >= 0 && model_.vocab_.type(p.id) == TokenType::unused ? halves_.find(p.id) : halves_.end();
      if (half != halves_.end()) {
        const std::uint32_t n = half->second;
        pending_.push_back({p.begin + n, p.length - n, model_.find(text_.substr(p.begin + n, p.length - n))});
        pending_.push_back({p.begin, n, model_.find(text_.substr(p.begin, n))});
      } else if (p.id >= 0) {
        out_.put(p.id, p.begin, p.begin + p.length);
      } else {
        model_.fallback_.put(text_, p.begin, p.begin + p.length, out_);
      }
    }
  }

  struct Part {
    std::size_t begin;
    std::uint32_t length;
    TokenId id;
  };
  const SentencePieceBpe& model_;
  StopCheck check_;
  PieceOutput& out_;
  std::string_view text_;
  std::vector<Symbol> symbols_;
  std::vector<Candidate> heap_;
  std::unordered_map<TokenId, std::uint32_t> halves_;  // unused tokens: bytes of the left half they were made of
  std::vector<Part> pending_;
};

std::unique_ptr<PieceEncoder> SentencePieceBpe::start(PieceOutput& out) const { return std::make_unique<Encoder>(*this, out); }

}  // namespace hz::text::detail
