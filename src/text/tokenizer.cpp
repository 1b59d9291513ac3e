// SPDX-License-Identifier: Apache-2.0
// Tokenizer: special tokens, fragments, decoding. The algorithms are behind Body.
#include "hanzo/text/tokenizer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "src/core/stop_check.hpp"
#include "src/text/pretokenizer.hpp"
#include "src/text/body.hpp"

namespace hz::text {
namespace {

using detail::Fragment;
using detail::Output;
using detail::Role;
using detail::SpecialSplit;

void check_length(std::size_t bytes) {
  constexpr std::size_t kMost = std::numeric_limits<std::int32_t>::max();
  if (bytes > kMost)
    throw Error(ErrorKind::usage, fmt::format("a text of {} bytes is longer than the {} that can be tokenized", bytes, kMost));
}

void encode_text(const Tokenizer::Body& body, std::string_view text, const SpecialSplit::Ranges& parsed, bool add_special, Output out) {
  check_length(text.size());
  if (add_special)
    for (const TokenId id : body.prefix) out.put(id, {0, 0});
  std::uint32_t done = 0;
  Fragment fragment;
  const auto emit = [&](std::uint32_t end) {
    if (end <= done) return;
    fragment.text = text.substr(done, end - done);
    fragment.begin = done;
    body.algorithm->encode(fragment, out);
    fragment.first = fragment.after_special = false;
  };
  StopCheck check;
  for (const auto& special : body.specials->find(text, parsed)) {
    check();
    emit(special.left);
    out.put(special.id, {special.left, special.right});
    done = special.right;
    fragment.first = false;
    fragment.after_special = true;
  }
  const auto end = static_cast<std::uint32_t>(text.size());
  emit(end);
  if (add_special)
    for (const TokenId id : body.suffix) out.put(id, {end, end});
}

SpecialSplit::Ranges whole_range(std::string_view text, bool parse_special) {
  check_length(text.size());
  if (!parse_special || text.empty()) return {};
  return {{0, static_cast<std::uint32_t>(text.size())}};
}

// The joined text and the ranges of it that may hold control tokens.
struct Joined {
  std::string text;
  SpecialSplit::Ranges parsed;

  explicit Joined(std::span<const Segment> segments) {
    std::size_t bytes = 0;
    for (const Segment& s : segments) bytes += s.text.size(), check_length(bytes);
    text.reserve(bytes);
    for (const Segment& s : segments) {
      const auto begin = static_cast<std::uint32_t>(text.size());
      text.append(s.text);
      const auto end = static_cast<std::uint32_t>(text.size());
      if (!s.parse_special || begin == end) continue;
      if (!parsed.empty() && parsed.back().end == begin)
        parsed.back().end = end;
      else
        parsed.push_back({begin, end});
    }
  }
};

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  std::string out;
  std::size_t read = 0;
  for (std::size_t at; (at = text.find(from, read)) != std::string::npos; read = at + from.size()) {
    out.append(text, read, at - read);
    out.append(to);
  }
  if (read > 0) text = out.append(text, read);
}

// What decoders of the GPT-2 and BERT families do to spaces before punctuation and in English contractions.
void clean_up_spaces(std::string& text) {
  std::size_t n = text.empty() ? 0 : 1;
  for (std::size_t i = 1; i < text.size(); ++i) {
    const char c = text[i];
    if (text[i - 1] == ' ' && (c == '?' || c == '!' || c == '.' || c == ',')) --n;
    text[n++] = c;
  }
  text.resize(n);
  replace_all(text, " ' ", "'");
  for (const std::string_view from : {" 's", " 'm", " 're", " 've"}) replace_all(text, from, from.substr(1));
}

std::size_t checked(const Tokenizer::Body& body, TokenId id) {
  if (id < 0 || id >= body.vocab.size())
    throw Error(ErrorKind::usage, fmt::format("token id {} is outside the vocabulary of {} tokens", id, body.vocab.size()));
  return static_cast<std::size_t>(id);
}

}  // namespace

std::string_view name_of(TokenizerKind kind) {
  switch (kind) {
    case TokenizerKind::bpe: return "byte-pair encoding";
    case TokenizerKind::sentencepiece: return "SentencePiece";
    case TokenizerKind::wordpiece: return "WordPiece";
    case TokenizerKind::unigram: return "unigram";
    case TokenizerKind::rwkv: return "RWKV";
    case TokenizerKind::plamo2: return "PLaMo 2";
  }
  return "unknown";
}

Tokenizer::Tokenizer(std::unique_ptr<const Body> body) : body_(std::move(body)) {}
std::vector<std::string_view> Tokenizer::pre_names() { return detail::pre_names(); }

Tokenizer::~Tokenizer() = default;

std::vector<TokenId> Tokenizer::encode(std::string_view text, EncodeOptions options) const {
  std::vector<TokenId> ids;
  encode_text(*body_, text, whole_range(text, options.parse_special), options.add_special, Output(ids, nullptr));
  return ids;
}

Encoding Tokenizer::encode_with_offsets(std::string_view text, EncodeOptions options) const {
  Encoding e;
  encode_text(*body_, text, whole_range(text, options.parse_special), options.add_special, Output(e.ids, &e.offsets));
  return e;
}

std::vector<TokenId> Tokenizer::encode_segments(std::span<const Segment> segments, bool add_special) const {
  const Joined joined(segments);
  std::vector<TokenId> ids;
  encode_text(*body_, joined.text, joined.parsed, add_special, Output(ids, nullptr));
  return ids;
}

Encoding Tokenizer::encode_segments_with_offsets(std::span<const Segment> segments, bool add_special) const {
  const Joined joined(segments);
  Encoding e;
  encode_text(*body_, joined.text, joined.parsed, add_special, Output(e.ids, &e.offsets));
  return e;
}

std::string Tokenizer::decode(std::span<const TokenId> ids, DecodeOptions options) const {
  std::string out;
  bool first = body_->add_space_prefix && !options.keep_prefix_space;
  for (const TokenId id : ids) {
    if (!shows(id, options)) continue;
    std::string_view piece = body_->vocab.piece(id);
    if (first && piece.starts_with(' ')) piece.remove_prefix(1);
    first = false;
    out.append(piece);
  }
  if (options.clean_up) clean_up_spaces(out);
  return out;
}

std::int32_t Tokenizer::size() const { return body_->vocab.size(); }
TokenizerKind Tokenizer::kind() const { return body_->kind; }
std::string_view Tokenizer::pre() const { return body_->pre; }
std::string_view Tokenizer::text(TokenId id) const { return checked(*body_, id), body_->vocab.texts[id]; }
std::string_view Tokenizer::piece(TokenId id) const { return checked(*body_, id), body_->vocab.piece(id); }
TokenType Tokenizer::type(TokenId id) const { return body_->vocab.types[checked(*body_, id)]; }
double Tokenizer::score(TokenId id) const { return checked(*body_, id), body_->vocab.score(id); }
bool Tokenizer::is_control(TokenId id) const { return body_->vocab.special[checked(*body_, id)] == detail::Special::when_parsed; }
bool Tokenizer::shows(TokenId id, const DecodeOptions& options) const {
  const TokenType type = this->type(id);
  return options.special || !(type == TokenType::control || type == TokenType::unknown || is_end_of_turn(id));
}
bool Tokenizer::is_end_of_turn(TokenId id) const {
  checked(*body_, id);
  return std::binary_search(body_->vocab.end_of_turn.begin(), body_->vocab.end_of_turn.end(), id);
}
std::optional<TokenId> Tokenizer::find(std::string_view text) const { return body_->vocab.find(text); }

std::optional<TokenId> Tokenizer::bos() const { return body_->vocab.role(Role::bos); }
std::optional<TokenId> Tokenizer::eos() const { return body_->vocab.role(Role::eos); }
std::optional<TokenId> Tokenizer::eot() const { return body_->vocab.role(Role::eot); }
std::optional<TokenId> Tokenizer::eom() const { return body_->vocab.role(Role::eom); }
std::optional<TokenId> Tokenizer::unk() const { return body_->vocab.role(Role::unk); }
std::optional<TokenId> Tokenizer::sep() const { return body_->vocab.role(Role::sep); }
std::optional<TokenId> Tokenizer::pad() const { return body_->vocab.role(Role::pad); }
std::optional<TokenId> Tokenizer::mask() const { return body_->vocab.role(Role::mask); }
std::optional<TokenId> Tokenizer::fim_prefix() const { return body_->vocab.role(Role::fim_prefix); }
std::optional<TokenId> Tokenizer::fim_suffix() const { return body_->vocab.role(Role::fim_suffix); }
std::optional<TokenId> Tokenizer::fim_middle() const { return body_->vocab.role(Role::fim_middle); }

std::span<const TokenId> Tokenizer::end_of_turn_ids() const { return body_->vocab.end_of_turn; }
bool Tokenizer::add_bos() const { return body_->add_bos; }
bool Tokenizer::add_eos() const { return body_->add_eos; }
bool Tokenizer::add_space_prefix() const { return body_->add_space_prefix; }
bool Tokenizer::clean_up() const { return body_->clean_up; }

std::string Tokenizer::hash() const {
  const Body& b = *body_;
  io::Sha256 sha;
  const auto number = [&](std::int64_t v) { sha.update(std::as_bytes(std::span(&v, 1))); };
  const auto ids = [&](const std::vector<TokenId>& list) {
    number(static_cast<std::int64_t>(list.size()));
    for (const TokenId id : list) number(id);
  };
  sha.update(fmt::format("hanzo tokenizer 1\n{}\n{}\n{}\n", static_cast<int>(b.kind), b.pre, b.origin));
  for (TokenId id = 0; id < b.vocab.size(); ++id) {
    const std::string_view text = b.vocab.texts[id];
    number(static_cast<std::int64_t>(text.size()) << 8 | static_cast<std::int64_t>(b.vocab.type(id)));
    sha.update(text);
  }
  sha.update(std::as_bytes(std::span(b.vocab.scores)));
  for (const auto& role : b.vocab.roles) number(role.value_or(-1));
  ids(b.vocab.end_of_turn), ids(b.prefix), ids(b.suffix);
  number(b.add_space_prefix ? 1 : 0);
  b.algorithm->hash(sha);
  return sha.hex();
}

}  // namespace hz::text
