// SPDX-License-Identifier: Apache-2.0
// Bpe: symbols of a piece, merges, and what becomes of bytes that are no token.
#include "src/text/bpe.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "hanzo/text/utf8.hpp"

namespace hz::text::detail {
namespace {

struct ByteChars {
  std::array<char32_t, 256> to_char{};
  std::array<std::int16_t, 0x180> to_byte{};  // -1: not a stand-in
};

// Bytes that print in Latin-1 stand for themselves, the others for U+0100 and following, in order.
constexpr ByteChars make_byte_chars() {
  ByteChars t;
  for (auto& b : t.to_byte) b = -1;
  char32_t next = 0x100;
  for (unsigned b = 0; b < 256; ++b) {
    const bool prints = (b >= 0x21 && b <= 0x7E) || (b >= 0xA1 && b <= 0xAC) || b >= 0xAE;
    const char32_t c = prints ? b : next++;
    t.to_char[b] = c;
    t.to_byte[c] = static_cast<std::int16_t>(b);
  }
  return t;
}
constexpr ByteChars kByteChars = make_byte_chars();

}  // namespace

char32_t byte_to_char(unsigned char b) { return kByteChars.to_char[b]; }

std::string decode_byte_chars(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size();) {
    const Utf8Char c = decode_utf8(text, i);
    i += c.length;
    if (!c.valid || c.cp >= kByteChars.to_byte.size() || kByteChars.to_byte[c.cp] < 0) return std::string(text);
    out.push_back(static_cast<char>(kByteChars.to_byte[c.cp]));
  }
  return out;
}

Merges read_merges(const Vocab& vocab, const io::Metadata& metadata) {
  constexpr std::string_view kKey = "tokenizer.ggml.merges";
  const io::Value* value = metadata.find(kKey);
  if (!value) metadata.missing(kKey);
  const auto* array = std::get_if<io::Array>(&value->data);
  const auto* rules = array ? std::get_if<std::vector<std::string>>(array) : nullptr;
  if (!rules) throw Error(ErrorKind::bad_file, fmt::format("{}: is not an array of strings", kKey), metadata.source());
  Merges merges;
  merges.reserve(rules->size());
  std::string joined;
  for (std::size_t i = 0; i < rules->size(); ++i) {
    const std::string_view rule = (*rules)[i];
    const std::size_t space = rule.find(' ', 1);
    TokenId left = -1, right = -1, result = -1;
    if (space != std::string_view::npos) {
      const std::string_view a = rule.substr(0, space), b = rule.substr(space + 1);
      joined.assign(a).append(b);
      left = vocab.texts.find(a), right = vocab.texts.find(b), result = vocab.texts.find(joined);
    }
    if (left < 0 || right < 0 || result < 0)
      throw Error(ErrorKind::bad_file, fmt::format("{}: rule {} ('{}') is not made of two tokens whose union is a token", kKey, i, rule),
                  metadata.source());
    if (vocab.in_text(result)) merges.add(left, right, {static_cast<std::uint32_t>(i), result});
  }
  return merges;
}

Bpe::Bpe(const Vocab& vocab, Merges merges, BpeOptions options)
    : vocab_(vocab), merges_(std::move(merges)), options_(std::move(options)) {
  if (options_.byte_level) {
    for (unsigned b = 0; b < 256; ++b) {
      std::string text;
      append_utf8(text, byte_to_char(static_cast<unsigned char>(b)));
      const TokenId id = vocab.texts.find(text);
      byte_ids_[b] = id >= 0 && vocab.in_text(id) ? id : -1;
    }
  } else {
    const ByteTokens bytes = byte_tokens(vocab);
    std::copy(std::begin(bytes.ids), std::end(bytes.ids), std::begin(byte_ids_));
  }
}

class Bpe::Encoder : public PieceEncoder {
 public:
  Encoder(const Bpe& bpe, PieceOutput& out) : bpe_(bpe), out_(out) {}

  void piece(std::string_view whole, std::size_t begin, std::size_t end, bool) override {
    const std::string_view text = whole.substr(begin, end - begin);
    if (const TokenId id = whole_token(text); id >= 0) return put(id, begin, end);
    symbols_.clear();
    if (bpe_.options_.byte_level)
      for (const char c : text) symbols_.push_back({bpe_.byte_ids_[static_cast<unsigned char>(c)], 1});
    else
      characters(text);
    bpe_.merges_.apply(symbols_, scratch_);
    for (const auto& s : symbols_) {
      if (s.id >= 0)
        put(s.id, begin, begin + s.length);
      else
        unknown(whole, begin, begin + s.length);
      begin += s.length;
    }
  }

 private:
  void characters(std::string_view text) {
    for (std::size_t i = 0; i < text.size();) {
      const Utf8Char c = decode_utf8(text, i);
      const bool first = i == 0, last = i + c.length >= text.size();
      TokenId id = -1;
      if ((first || bpe_.options_.continuing.empty()) && (!last || bpe_.options_.last.empty())) {
        id = bpe_.vocab_.texts.find(text.substr(i, c.length));
      } else {
        decorated_.assign(first ? "" : bpe_.options_.continuing).append(text, i, c.length).append(last ? bpe_.options_.last : "");
        id = bpe_.vocab_.texts.find(decorated_);
      }
      if (id >= 0 && !bpe_.vocab_.in_text(id)) id = -1;
      symbols_.push_back({id, c.length});
      i += c.length;
    }
  }

  // The id of a piece that is taken whole, without merges; or -1.
  TokenId whole_token(std::string_view text) {
    const bool lines = bpe_.options_.newline_runs && text.find_first_not_of('\n') == std::string_view::npos;
    if (!bpe_.options_.ignore_merges && !lines) return -1;
    if (bpe_.options_.byte_level) {
      decorated_.clear();
      for (const char c : text) append_utf8(decorated_, byte_to_char(static_cast<unsigned char>(c)));
      text = decorated_;
    }
    const TokenId id = bpe_.vocab_.texts.find(text);
    return id >= 0 && bpe_.vocab_.in_text(id) ? id : -1;
  }

  void put(TokenId id, std::size_t begin, std::size_t end) {
    out_.put(id, begin, end);
    unknown_before_ = false;
  }

  void unknown(std::string_view whole, std::size_t begin, std::size_t end) {
    const auto id_of = [&](std::size_t i) { return bpe_.byte_ids_[static_cast<unsigned char>(whole[i])]; };
    bool in_bytes = !bpe_.options_.byte_level;
    for (std::size_t i = begin; i < end; ++i) in_bytes = in_bytes && id_of(i) >= 0;
    if (in_bytes) {
      for (std::size_t i = begin; i < end; ++i) put(id_of(i), i, i + 1);
    } else if (const auto unk = bpe_.vocab_.unknown()) {
      if (!(bpe_.options_.fuse_unknown && unknown_before_)) out_.put(*unk, begin, end);
      unknown_before_ = true;
    }
  }

  const Bpe& bpe_;
  PieceOutput& out_;
  Merges::Scratch scratch_;
  std::vector<Merges::Symbol> symbols_;
  std::string decorated_;
  bool unknown_before_ = false;
};

std::unique_ptr<PieceEncoder> Bpe::start(PieceOutput& out) const { return std::make_unique<Encoder>(*this, out); }

}  // namespace hz::text::detail
