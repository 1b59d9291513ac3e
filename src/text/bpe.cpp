// SPDX-License-Identifier: Apache-2.0
// Bpe: normalise, cut into pieces, merge inside each.
#include "src/text/bpe.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "hanzo/text/utf8.hpp"
#include "src/text/normalize.hpp"

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
    merges.add(left, right, {static_cast<std::uint32_t>(i), result});
  }
  return merges;
}

Bpe::Bpe(const Vocab& vocab, PreTokenizer pre, Merges merges, BpeOptions options)
    : vocab_(vocab), pre_(std::move(pre)), merges_(std::move(merges)), options_(options) {
  if (options_.byte_level) {
    for (unsigned b = 0; b < 256; ++b) {
      std::string text;
      append_utf8(text, byte_to_char(static_cast<unsigned char>(b)));
      byte_ids_[b] = vocab.texts.find(text);
    }
  } else {
    const ByteTokens bytes = byte_tokens(vocab);
    std::copy(std::begin(bytes.ids), std::end(bytes.ids), std::begin(byte_ids_));
  }
}

// One call of encode.
struct Bpe::Session {
  const Bpe& bpe;
  Output& out;
  std::uint32_t base;                 // of the fragment in the input
  const AlignedText* aligned = nullptr;  // null: the text is the input's own bytes
  PreTokenizer::Splitter splitter;
  Merges::Scratch scratch;
  std::vector<Merges::Symbol> symbols;
  std::string stand_ins;
  bool unknown_before = false;

  Session(const Bpe& b, Output& o, std::uint32_t begin) : bpe(b), out(o), base(begin), splitter(b.pre_) {}

  Span span(std::size_t begin, std::size_t end) const {
    if (aligned) return aligned->span(begin, end, base);
    return {base + static_cast<std::uint32_t>(begin), base + static_cast<std::uint32_t>(end)};
  }

  // Well-formed stretches are cut into pieces; ill-formed bytes are pieces of their own.
  void text(std::string_view whole) {
    for (std::size_t begin = 0; begin < whole.size();) {
      std::size_t end = begin;
      Utf8Char c = decode_utf8(whole, begin);
      const bool valid = c.valid;
      while (c.valid == valid) {
        end += c.length;
        if (end >= whole.size()) break;
        c = decode_utf8(whole, end);
      }
      if (valid)
        for (const auto& p : splitter.split(whole.substr(begin, end - begin))) piece(whole, begin + p.begin, begin + p.end);
      else
        piece(whole, begin, end);
      begin = end;
    }
  }

  void piece(std::string_view whole, std::size_t begin, std::size_t end) {
    const std::string_view text = whole.substr(begin, end - begin);
    if (const TokenId id = whole_token(text); id >= 0) return put(id, begin, end);
    symbols.clear();
    if (bpe.options_.byte_level)
      for (const char c : text) symbols.push_back({bpe.byte_ids_[static_cast<unsigned char>(c)], 1});
    else
      for (std::size_t i = 0; i < text.size();) {
        const Utf8Char c = decode_utf8(text, i);
        TokenId id = bpe.vocab_.texts.find(text.substr(i, c.length));
        if (id >= 0 && !bpe.vocab_.in_text(id)) id = -1;
        symbols.push_back({id, c.length});
        i += c.length;
      }
    bpe.merges_.apply(symbols, scratch);
    for (const auto& s : symbols) {
      if (s.id >= 0)
        put(s.id, begin, begin + s.length);
      else
        unknown(whole, begin, begin + s.length);
      begin += s.length;
    }
  }

  // The id of a piece that is taken whole, without merges; or -1.
  TokenId whole_token(std::string_view text) {
    const bool lines = bpe.options_.newline_runs && text.find_first_not_of('\n') == std::string_view::npos;
    if (!bpe.options_.ignore_merges && !lines) return -1;
    if (bpe.options_.byte_level) {
      stand_ins.clear();
      for (const char c : text) append_utf8(stand_ins, byte_to_char(static_cast<unsigned char>(c)));
      text = stand_ins;
    }
    const TokenId id = bpe.vocab_.texts.find(text);
    return id >= 0 && bpe.vocab_.in_text(id) ? id : -1;
  }

  void put(TokenId id, std::size_t begin, std::size_t end) {
    out.put(id, span(begin, end));
    unknown_before = false;
  }

  void unknown(std::string_view whole, std::size_t begin, std::size_t end) {
    const auto id_of = [&](std::size_t i) { return bpe.byte_ids_[static_cast<unsigned char>(whole[i])]; };
    bool in_bytes = !bpe.options_.byte_level;
    for (std::size_t i = begin; i < end; ++i) in_bytes = in_bytes && id_of(i) >= 0;
    if (in_bytes) {
      for (std::size_t i = begin; i < end; ++i) put(id_of(i), i, i + 1);
    } else if (const auto unk = bpe.vocab_.role(Role::unk)) {
      if (!(bpe.options_.fuse_unknown && unknown_before)) out.put(*unk, span(begin, end));
      unknown_before = true;
    }
  }
};

void Bpe::encode(const Fragment& fragment, Output& out) const {
  Session session(*this, out, fragment.begin);
  const bool normalise = options_.nfc && !surely_normal(fragment.text);
  if (!normalise && !options_.mark_spaces) return session.text(fragment.text);

  AlignedText aligned(out.wants_spans());
  if (normalise) {
    normalize(fragment.text, Form::nfc, aligned);
  } else {
    const std::string_view text = fragment.text;
    const bool wants_mark = (options_.mark_first && fragment.first) || (options_.mark_each && fragment.after_special);
    if (wants_mark && !(text.starts_with(' ') || text.starts_with(kSpaceMark))) aligned.replace(kSpaceMark, 0, 0);
    for (std::size_t i = 0; i < text.size();) {
      const std::size_t space = std::min(text.find(' ', i), text.size());
      aligned.copy(text.substr(i, space - i), i);
      if (space < text.size()) aligned.replace(kSpaceMark, space, space + 1);
      i = space + 1;
    }
  }
  session.aligned = &aligned;
  session.text(aligned.text());
}

}  // namespace hz::text::detail
