// SPDX-License-Identifier: Apache-2.0
// Vocab from GGUF metadata: every count, id and number is checked here, so that algorithms need not.
#include "src/text/vocab.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "hanzo/text/utf8.hpp"

namespace hz::text::detail {
namespace {

using io::Metadata;

constexpr std::string_view kTokens = "tokenizer.ggml.tokens", kScores = "tokenizer.ggml.scores",
                           kTypes = "tokenizer.ggml.token_type";

[[noreturn]] void bad(const Metadata& m, std::string_view key, const std::string& what, const std::string& hint = {}) {
  throw Error(ErrorKind::bad_file, fmt::format("{}: {}", key, what), m.source(), hint);
}

// The array under `key` in place, without copying; null when the key is absent or its elements are not T.
template <class T>
const std::vector<T>* view_array(const Metadata& m, std::string_view key) {
  const io::Value* value = m.find(key);
  const auto* array = value ? std::get_if<io::Array>(&value->data) : nullptr;
  return array ? std::get_if<std::vector<T>>(array) : nullptr;
}

void read_texts(Vocab& vocab, const Metadata& m) {
  const auto* texts = view_array<std::string>(m, kTokens);
  if (!texts) {
    if (!m.contains(kTokens)) m.missing(kTokens);
    bad(m, kTokens, "is not an array of strings");
  }
  if (texts->empty()) bad(m, kTokens, "is empty: a vocabulary needs tokens");
  std::size_t bytes = 0;
  for (const std::string& t : *texts) bytes += t.size();
  if (bytes > kMaxVocabBytes)
    bad(m, kTokens, fmt::format("holds {} bytes of text, more than the {} that a vocabulary may have", bytes, kMaxVocabBytes));
  vocab.texts.reserve(texts->size(), bytes);
  for (std::size_t i = 0; i < texts->size(); ++i) {
    const std::string& t = (*texts)[i];
    if (t.size() > kMaxTokenBytes)
      bad(m, kTokens, fmt::format("token {} has {} bytes, more than the {} that a token may have", i, t.size(), kMaxTokenBytes));
    if (!is_valid_utf8(t)) bad(m, kTokens, fmt::format("token {} is not UTF-8", i));
    // An empty text would match everywhere; such a token can only be produced by the model.
    const bool added = t.empty() ? vocab.texts.add(fmt::format("[EMPTY_{}]", i)) : vocab.texts.add(t);
    if (!added) bad(m, kTokens, fmt::format("token {} has the text of token {}: '{}'", i, vocab.texts.find(t), t));
  }
}

void read_scores(Vocab& vocab, const Metadata& m, bool needed) {
  const auto n = static_cast<std::size_t>(vocab.size());
  if (!m.contains(kScores)) {
    if (needed) m.missing(kScores);
    return;
  }
  if (const auto* floats = view_array<float>(m, kScores)) {
    vocab.scores.assign(floats->begin(), floats->end());
  } else if (const auto* ints = view_array<std::int32_t>(m, kScores)) {
    vocab.scores.assign(ints->begin(), ints->end());
  } else {
    bad(m, kScores, "is not an array of float32");
  }
  if (vocab.scores.size() != n) bad(m, kScores, fmt::format("has {} scores for {} tokens", vocab.scores.size(), n));
  for (std::size_t i = 0; i < n; ++i)
    if (!std::isfinite(vocab.scores[i])) bad(m, kScores, fmt::format("the score of token {} is not finite", i));
}

void read_types(Vocab& vocab, const Metadata& m) {
  const auto n = static_cast<std::size_t>(vocab.size());
  vocab.types.assign(n, TokenType::normal);
  if (!m.contains(kTypes)) return;
  const auto* types = view_array<std::int32_t>(m, kTypes);
  if (!types) bad(m, kTypes, "is not an array of int32");
  if (types->size() != n) bad(m, kTypes, fmt::format("has {} types for {} tokens", types->size(), n));
  for (std::size_t i = 0; i < n; ++i) {
    const std::int32_t t = (*types)[i];
    if (t < 0 || t > 6) bad(m, kTypes, fmt::format("token {} has type {}; types are 0 to 6", i, t));
    vocab.types[i] = static_cast<TokenType>(t);
    const std::string_view text = vocab.texts[static_cast<std::int32_t>(i)];
    if (vocab.types[i] == TokenType::byte && !byte_of(text))
      bad(m, kTokens, fmt::format("token {} is a byte token but is called '{}' instead of <0x00> to <0xFF>", i, text));
  }
}

struct RoleKey {
  Role role;
  std::string_view key;
};
constexpr RoleKey kRoleKeys[] = {
    {Role::bos, "tokenizer.ggml.bos_token_id"},
    {Role::eos, "tokenizer.ggml.eos_token_id"},
    {Role::eot, "tokenizer.ggml.eot_token_id"},
    {Role::eom, "tokenizer.ggml.eom_token_id"},
    {Role::unk, "tokenizer.ggml.unknown_token_id"},
    {Role::sep, "tokenizer.ggml.seperator_token_id"},  // spelt so in the format
    {Role::pad, "tokenizer.ggml.padding_token_id"},
    {Role::cls, "tokenizer.ggml.cls_token_id"},
    {Role::mask, "tokenizer.ggml.mask_token_id"},
    {Role::fim_prefix, "tokenizer.ggml.fim_pre_token_id"},
    {Role::fim_suffix, "tokenizer.ggml.fim_suf_token_id"},
    {Role::fim_middle, "tokenizer.ggml.fim_mid_token_id"},
    {Role::fim_pad, "tokenizer.ggml.fim_pad_token_id"},
    {Role::fim_repo, "tokenizer.ggml.fim_rep_token_id"},
    {Role::fim_file, "tokenizer.ggml.fim_sep_token_id"},
    {Role::fim_prefix, "tokenizer.ggml.prefix_token_id"},  // the former names
    {Role::fim_suffix, "tokenizer.ggml.suffix_token_id"},
    {Role::fim_middle, "tokenizer.ggml.middle_token_id"},
};

}  // namespace

std::optional<unsigned char> byte_of(std::string_view text) {
  const auto digit = [](char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    return -1;
  };
  if (text.size() != 6 || !text.starts_with("<0x") || text[5] != '>') return std::nullopt;
  const int high = digit(text[3]), low = digit(text[4]);
  if (high < 0 || low < 0) return std::nullopt;
  return static_cast<unsigned char>(high * 16 + low);
}

ByteTokens byte_tokens(const Vocab& vocab) {
  ByteTokens bytes;
  bytes.complete = true;
  for (unsigned b = 0; b < 256; ++b) {
    const TokenId id = vocab.texts.find(fmt::format("<0x{:02X}>", b));
    bytes.ids[b] = id >= 0 && (vocab.type(id) == TokenType::byte || vocab.in_text(id)) ? id : -1;
    bytes.complete = bytes.complete && bytes.ids[b] >= 0;
  }
  return bytes;
}

Vocab read_vocab(const Metadata& metadata, bool needs_scores) {
  Vocab vocab;
  read_texts(vocab, metadata);
  read_scores(vocab, metadata, needs_scores);
  read_types(vocab, metadata);
  return vocab;
}

void read_roles(Vocab& vocab, const Metadata& metadata, std::vector<std::pair<Role, TokenId>> defaults) {
  for (const auto& [role, id] : defaults)
    if (id < vocab.size()) vocab.roles[static_cast<std::size_t>(role)] = id;
  for (const auto& [role, key] : kRoleKeys) {
    const auto id = metadata.get<std::uint32_t>(key);
    if (!id) continue;
    if (*id >= static_cast<std::uint32_t>(vocab.size()))
      bad(metadata, key, fmt::format("is {}, the vocabulary has {} tokens", *id, vocab.size()));
    vocab.roles[static_cast<std::size_t>(role)] = static_cast<TokenId>(*id);
  }
}

std::optional<TokenId> Vocab::unknown() const {
  const std::optional<TokenId> unk = role(Role::unk);
  if (!unk || std::binary_search(end_of_turn.begin(), end_of_turn.end(), *unk)) return std::nullopt;
  for (std::size_t r = 0; r < kRoles; ++r)
    if (r != static_cast<std::size_t>(Role::unk) && r != static_cast<std::size_t>(Role::pad) && roles[r] == unk) return std::nullopt;
  return unk;
}

std::string spaces_for_marks(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    const bool mark = text.substr(i).starts_with(kSpaceMark);
    out.push_back(mark ? ' ' : text[i]);
    i += mark ? kSpaceMark.size() : 1;
  }
  return out;
}

void fill_pieces(Vocab& vocab, const std::function<std::string(std::string_view text)>& decode) {
  vocab.pieces.clear();
  vocab.piece_ends.clear();
  vocab.piece_ends.reserve(static_cast<std::size_t>(vocab.size()));
  for (TokenId id = 0; id < vocab.size(); ++id) {
    const std::string_view text = vocab.texts[id];
    const auto byte = vocab.type(id) == TokenType::byte ? byte_of(text) : std::nullopt;
    if (byte)
      vocab.pieces.push_back(static_cast<char>(*byte));
    else if (vocab.in_text(id) && vocab.type(id) != TokenType::user_defined)
      vocab.pieces += decode(text);
    else
      vocab.pieces += text;
    vocab.piece_ends.push_back(static_cast<std::uint32_t>(vocab.pieces.size()));
  }
}

}  // namespace hz::text::detail
