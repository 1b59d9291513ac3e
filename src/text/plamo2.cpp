// SPDX-License-Identifier: Apache-2.0
// Plamo2: dynamic programming from the end of the text; of equal costs the longer token wins.
#include "src/text/plamo2.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "hanzo/text/utf8.hpp"
#include "src/core/stop_check.hpp"

namespace hz::text::detail {
namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
constexpr std::int64_t kUnknownScore = -10'000'000;  // of a character that is no token

}  // namespace

Plamo2::Plamo2(const Vocab& vocab) : fallback_(vocab) {
  std::vector<std::pair<std::string_view, std::int32_t>> entries;
  scores_.resize(static_cast<std::size_t>(vocab.size()));
  for (TokenId id = 0; id < vocab.size(); ++id) {
    if (!vocab.in_text(id)) continue;
    // Scores beyond this range would overflow sums over a long text and are as good as impossible.
    scores_[static_cast<std::size_t>(id)] = std::llround(std::clamp(vocab.score(id), -1e3, 1e3) * 1e4);
    entries.emplace_back(vocab.texts[id], id);
  }
  trie_ = ByteTrie(std::move(entries));
}

class Plamo2::Encoder : public PieceEncoder {
 public:
  Encoder(const Plamo2& model, PieceOutput& out) : model_(model), out_(out) {}

  void piece(std::string_view whole, std::size_t begin, std::size_t end, bool valid) override {
    if (!valid) return model_.fallback_.put(whole, begin, end, out_);
    if (begin == 0 && whole.starts_with(kByteOrderMark)) begin = kByteOrderMark.size();  // dropped, as the model's own does
    const std::string_view text = whole.substr(begin, end - begin);
    best_.assign(text.size() + 1, Best{});
    best_.back().cost = 0;
    StopCheck check;
    for (std::size_t at = text.size(); at-- > 0;) {
      check();
      if ((static_cast<unsigned char>(text[at]) & 0xC0) != 0x80) choose(text, at);
    }
    for (std::size_t at = 0; at < text.size(); at += best_[at].length) {
      const Best& b = best_[at];
      if (b.id >= 0)
        out_.put(b.id, begin + at, begin + at + b.length);
      else
        model_.fallback_.put(whole, begin + at, begin + at + b.length, out_);
    }
  }

 private:
  struct Best {
    std::int64_t cost = std::numeric_limits<std::int64_t>::max();
    std::size_t length = 0;  // bytes of the first token from here
    TokenId id = -1;
  };

  void choose(std::string_view text, std::size_t at) {
    Best best;
    const auto offer = [&](std::size_t length, std::int64_t score, TokenId id, bool on_equal) {
      const std::int64_t cost = best_[at + length].cost - score;
      if (cost < best.cost || (on_equal && cost == best.cost)) best = {cost, length, id};
    };
    const std::size_t character = decode_utf8(text, at).length;
    offer(character, kUnknownScore, -1, false);
    model_.trie_.prefixes(text, at, [&](std::size_t length, std::int32_t id) {
      offer(length, model_.scores_[static_cast<std::size_t>(id)], id, true);
      return true;
    });
    best_[at] = best;
  }

  const Plamo2& model_;
  PieceOutput& out_;
  std::vector<Best> best_;
};

std::unique_ptr<PieceEncoder> Plamo2::start(PieceOutput& out) const { return std::make_unique<Encoder>(*this, out); }

}  // namespace hz::text::detail
