// SPDX-License-Identifier: Apache-2.0
// Vocab: the tokens of a model, their types, scores and roles. Algorithms read it.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hanzo/io/metadata.hpp"
#include "hanzo/text/tokenizer.hpp"
#include "src/text/text_pool.hpp"

namespace hz::text::detail {

inline constexpr std::string_view kSpaceMark = "\xE2\x96\x81";  // U+2581, which stands for a space in vocabularies
inline constexpr std::size_t kMaxTokenBytes = 1 << 14;          // the longest token of a real model has a few hundred
inline constexpr std::size_t kMaxVocabBytes = 1 << 25;          // all tokens together

// What a token is for. Each has its own `tokenizer.ggml.<key>` and names by which it is known without one.
enum class Role { bos, eos, eot, eom, unk, sep, pad, cls, mask, fim_prefix, fim_suffix, fim_middle, fim_pad, fim_repo, fim_file };
inline constexpr std::size_t kRoles = 15;

// How special-token matching treats a token.
enum class Special : std::uint8_t {
  no,
  always,       // user-defined: found in any text
  when_parsed,  // control: found where asked for, never made of plain text
  also_text,    // found where asked for, else made of plain text like any other
};

// Around which the matcher takes or needs something; from Hugging Face's added tokens.
struct Affix {
  bool strip_left = false, strip_right = false;  // swallows the white space beside it
  bool whole_word = false;                       // not inside a word
};

struct Vocab {
  TextPool texts;
  std::vector<TokenType> types;  // as the file has them
  std::vector<double> scores;    // empty: all 0
  std::vector<Special> special;
  std::vector<std::pair<TokenId, Affix>> affixes;  // ascending ids; tokens without one are absent
  std::optional<TokenId> roles[kRoles];
  std::vector<TokenId> end_of_turn;  // ascending
  std::string pieces;                // what each token stands for, back to back
  std::vector<std::uint32_t> piece_ends;

  std::int32_t size() const { return texts.size(); }
  TokenType type(TokenId id) const { return types[static_cast<std::size_t>(id)]; }
  double score(TokenId id) const { return scores.empty() ? 0.0 : scores[static_cast<std::size_t>(id)]; }
  std::string_view piece(TokenId id) const {
    const auto i = static_cast<std::size_t>(id);
    const std::uint32_t begin = i == 0 ? 0 : piece_ends[i - 1];
    return std::string_view(pieces).substr(begin, piece_ends[i] - begin);
  }
  std::optional<TokenId> role(Role r) const { return roles[static_cast<std::size_t>(r)]; }
  std::optional<TokenId> find(std::string_view text) const {
    const std::int32_t id = texts.find(text);
    return id < 0 ? std::nullopt : std::optional<TokenId>(id);
  }
  // What text becomes that no token covers: the unknown token, but for one that begins or ends something, as SmolLM2's,
  // which is <|endoftext|>: no text may write that. None: such text is left out.
  std::optional<TokenId> unknown() const;
  // A token that plain text may become: not control, whatever its spelling, nor unknown or byte.
  bool in_text(TokenId id) const {
    return special[static_cast<std::size_t>(id)] != Special::when_parsed && type(id) != TokenType::byte;
  }
};

// The byte that a token named <0xNN> stands for.
std::optional<unsigned char> byte_of(std::string_view text);

// Ids of the 256 byte tokens; -1 where one is missing.
struct ByteTokens {
  TokenId ids[256];
  bool complete = false;
};
ByteTokens byte_tokens(const Vocab& vocab);

// Reads tokens, scores and types. Throws Error(bad_file) naming the key.
Vocab read_vocab(const io::Metadata& metadata, bool needs_scores);

// The ids that the metadata give for roles; where absent, those of `defaults` that exist in the vocabulary.
void read_roles(Vocab& vocab, const io::Metadata& metadata, std::vector<std::pair<Role, TokenId>> defaults);

// From names, types and roles: which tokens are special, which end a turn, and roles found by name. Idempotent.
void classify(Vocab& vocab);

// Spaces for U+2581.
std::string spaces_for_marks(std::string_view text);

// Fills pieces: decode(text) for tokens of text, the byte of byte tokens, the text of control tokens.
void fill_pieces(Vocab& vocab, const std::function<std::string(std::string_view text)>& decode);

}  // namespace hz::text::detail
