// SPDX-License-Identifier: Apache-2.0
// WordPiece over a trie.
#include "src/text/wordpiece.hpp"

#include "hanzo/text/utf8.hpp"

namespace hz::text::detail {

WordPiece::WordPiece(const Vocab& vocab, WordPieceOptions options) : options_(std::move(options)), unk_(vocab.unknown()) {
  std::vector<std::pair<std::string_view, std::int32_t>> entries;
  for (TokenId id = 0; id < vocab.size(); ++id)
    if (vocab.in_text(id)) entries.emplace_back(vocab.texts[id], id);
  trie_ = ByteTrie(std::move(entries));
  first_node_ = node_behind(options_.first);
  continuing_node_ = node_behind(options_.continuing);
}

std::int32_t WordPiece::node_behind(std::string_view prefix) const {
  std::int32_t node = trie_.empty() ? -1 : trie_.root();
  for (std::size_t i = 0; i < prefix.size() && node >= 0; ++i) node = trie_.step(node, static_cast<unsigned char>(prefix[i]));
  return node;
}

class WordPiece::Encoder : public PieceEncoder {
 public:
  Encoder(const WordPiece& model, PieceOutput& out) : model_(model), out_(out) {}

  void piece(std::string_view whole, std::size_t begin, std::size_t end, bool valid) override {
    if (!valid) return unknown(begin, end);
    if (model_.options_.longest_word > 0) {
      std::size_t characters = 0;
      for (std::size_t i = begin; i < end; i += decode_utf8(whole, i).length) ++characters;
      if (characters > model_.options_.longest_word) return unknown(begin, end);
    }
    const std::size_t before = out_.size();
    for (std::size_t at = begin; at < end;) {
      std::int32_t node = at == begin ? model_.first_node_ : model_.continuing_node_;
      // Where only first tokens are marked, the mark itself inside a word must not begin one.
      const std::string& mark = model_.options_.first;
      if (at > begin && !mark.empty() && model_.options_.continuing.empty() && whole.substr(at).starts_with(mark)) node = -1;
      TokenId best = -1;
      std::size_t best_end = at;
      for (std::size_t i = at; i < end && node >= 0; ++i) {
        node = model_.trie_.step(node, static_cast<unsigned char>(whole[i]));
        if (node >= 0 && model_.trie_.value(node) >= 0) best = model_.trie_.value(node), best_end = i + 1;
      }
      if (best < 0) {  // then the whole word is unknown
        out_.shrink(before);
        return unknown(begin, end);
      }
      out_.put(best, at, best_end);
      at = best_end;
    }
  }

 private:
  void unknown(std::size_t begin, std::size_t end) {
    if (model_.unk_) out_.put(*model_.unk_, begin, end);
  }
  const WordPiece& model_;
  PieceOutput& out_;
};

std::unique_ptr<PieceEncoder> WordPiece::start(PieceOutput& out) const { return std::make_unique<Encoder>(*this, out); }

}  // namespace hz::text::detail
