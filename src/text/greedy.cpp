// SPDX-License-Identifier: Apache-2.0
// Greedy over a trie of bytes.
#include "src/text/greedy.hpp"

#include <unordered_set>

#include "src/core/stop_check.hpp"

namespace hz::text::detail {

std::optional<std::string> unescape_rwkv(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\') {
      out.push_back(text[i]);
      continue;
    }
    if (++i >= text.size()) return std::nullopt;
    switch (text[i]) {
      case 't': out.push_back('\t'); break;
      case 'n': out.push_back('\n'); break;
      case 'r': out.push_back('\r'); break;
      case 'x': {
        if (i + 2 >= text.size()) return std::nullopt;
        const auto byte = byte_of(std::string("<0x").append(text, i + 1, 2) + ">");
        if (!byte) return std::nullopt;
        out.push_back(static_cast<char>(*byte));
        i += 2;
        break;
      }
      default: out.push_back(text[i]);
    }
  }
  return out;
}

Greedy::Greedy(const Vocab& vocab) : unk_(vocab.unknown()) {
  std::vector<std::pair<std::string_view, std::int32_t>> entries;
  std::unordered_set<std::string_view> seen;  // two spellings may stand for the same bytes; the first counts
  for (TokenId id = 0; id < vocab.size(); ++id) {
    const std::string_view bytes = vocab.piece(id);
    if (!vocab.in_text(id)) continue;
    if (!bytes.empty() && seen.insert(bytes).second) entries.emplace_back(bytes, id);
  }
  trie_ = ByteTrie(std::move(entries));
}

class Greedy::Encoder : public PieceEncoder {
 public:
  Encoder(const Greedy& model, PieceOutput& out) : model_(model), out_(out) {}

  void piece(std::string_view whole, std::size_t begin, std::size_t end, bool) override {
    const std::string_view text = whole.substr(0, end);
    StopCheck check;
    while (begin < end) {
      check();
      TokenId best = -1;
      std::size_t length = 1;
      model_.trie_.prefixes(text, begin, [&](std::size_t n, std::int32_t id) {
        best = id, length = n;
        return true;
      });
      if (best >= 0)
        out_.put(best, begin, begin + length);
      else if (model_.unk_)
        out_.put(*model_.unk_, begin, begin + 1);
      begin += length;
    }
  }

 private:
  const Greedy& model_;
  PieceOutput& out_;
};

std::unique_ptr<PieceEncoder> Greedy::start(PieceOutput& out) const { return std::make_unique<Encoder>(*this, out); }

}  // namespace hz::text::detail
