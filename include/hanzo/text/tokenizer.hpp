// SPDX-License-Identifier: Apache-2.0
// Tokenizer: text to token ids and back, as the model's own tokenizer does it.
#pragma once
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hanzo/io/metadata.hpp"

namespace hz::text {

using TokenId = std::int32_t;

// The algorithm, from `tokenizer.ggml.model`.
enum class TokenizerKind { bpe, sentencepiece, wordpiece, unigram, rwkv, plamo2 };
std::string_view name_of(TokenizerKind kind);

// What a token is, with GGUF's numbers.
enum class TokenType : std::uint8_t { undefined, normal, unknown, control, user_defined, unused, byte };

struct EncodeOptions {
  bool add_special = true;     // what the model puts around a text: BOS, EOS, [CLS] … [SEP]
  bool parse_special = false;  // control tokens written in the text become those tokens; else they stay text
};

// A stretch of a prompt. Control tokens are recognised only where parse_special is set: true for what a chat
// template wrote, false for what a message holds.
struct Segment {
  std::string_view text;
  bool parse_special = false;
};

// Byte range [begin, end) of the input. Tokens that stand for no input (BOS, a space that the tokenizer put in
// front) have begin == end. Byte tokens of one character have its bytes one by one; what normalisation rewrote as a
// whole is the span of each token made of it.
struct Span {
  std::uint32_t begin = 0, end = 0;
  friend bool operator==(const Span&, const Span&) = default;
};

struct Encoding {
  std::vector<TokenId> ids;
  std::vector<Span> offsets;  // one per id
};

struct DecodeOptions {
  bool special = false;            // control, unknown and turn-ending tokens give their text instead of nothing
  bool keep_prefix_space = false;  // keep the space that the tokenizer itself puts before a text
  bool clean_up = false;           // remove spaces before punctuation, as some models' decoders do
};

// Immutable; any number of threads may use one.
class Tokenizer {
 public:
  // From the `tokenizer.*` keys of a GGUF file. pre_override, when given, is used in place of
  // `tokenizer.ggml.pre`. Throws Error(bad_file) naming the key when the metadata contradict themselves or
  // lack something, Error(unsupported) for a kind or pre-tokenizer that is not built.
  static std::shared_ptr<const Tokenizer> from_gguf(const io::Metadata& metadata, std::string_view pre_override = {});

  // From a Hugging Face `tokenizer.json`: the file itself, or a folder that holds it. `tokenizer_config.json` and
  // `generation_config.json` beside it name the tokens with a role and those that end a turn. Errors as above.
  static std::shared_ptr<const Tokenizer> from_hf(const std::filesystem::path& path);
  // The same from the texts of the files; the configurations may be empty. source: what messages call them.
  static std::shared_ptr<const Tokenizer> from_hf_json(std::string_view tokenizer, std::string_view tokenizer_config = {},
                                                       std::string_view generation_config = {},
                                                       const std::string& source = "tokenizer.json");

  // The pre-tokenizers that `tokenizer.ggml.pre` or pre_override may name.
  static std::vector<std::string_view> pre_names();

  ~Tokenizer();
  Tokenizer(const Tokenizer&) = delete;
  Tokenizer& operator=(const Tokenizer&) = delete;

  // Ids of a text. Any bytes are accepted: what is not UTF-8 becomes byte tokens where the model has them,
  // else unknown ones. Texts are limited to 2^31 - 1 bytes (Error(usage)).
  std::vector<TokenId> encode(std::string_view text, EncodeOptions options = {}) const;
  Encoding encode_with_offsets(std::string_view text, EncodeOptions options = {}) const;

  // Ids of the joined text of all segments: a token may span a border, but a control token is only found in
  // bytes that all may hold one. Offsets count in the joined text.
  std::vector<TokenId> encode_segments(std::span<const Segment> segments, bool add_special = false) const;
  Encoding encode_segments_with_offsets(std::span<const Segment> segments, bool add_special = false) const;

  // The bytes that the ids stand for; not necessarily UTF-8 (see StreamDecoder, repair_utf8).
  std::string decode(std::span<const TokenId> ids, DecodeOptions options = {}) const;

  std::int32_t size() const;  // of the vocabulary; ids are 0 to size() - 1
  TokenizerKind kind() const;
  std::string_view pre() const;  // the pre-tokenizer's name; empty for kinds that have none

  // Per token; an id outside the vocabulary is Error(usage).
  std::string_view text(TokenId id) const;   // as the vocabulary writes it
  std::string_view piece(TokenId id) const;  // the bytes it stands for inside a text; the text of control tokens
  TokenType type(TokenId id) const;
  double score(TokenId id) const;            // 0 where the model has no scores
  bool is_control(TokenId id) const;         // never found in text that is not to be parsed for it
  bool is_end_of_turn(TokenId id) const;
  bool shows(TokenId id, const DecodeOptions& options) const;  // decode gives its text rather than nothing

  std::optional<TokenId> find(std::string_view text) const;  // by vocabulary text

  // Tokens with a role, where the model has them.
  std::optional<TokenId> bos() const;
  std::optional<TokenId> eos() const;
  std::optional<TokenId> eot() const;  // end of turn
  std::optional<TokenId> eom() const;  // end of a message that expects a tool's answer
  std::optional<TokenId> unk() const;
  std::optional<TokenId> sep() const;
  std::optional<TokenId> pad() const;
  std::optional<TokenId> mask() const;
  std::optional<TokenId> fim_prefix() const;
  std::optional<TokenId> fim_suffix() const;
  std::optional<TokenId> fim_middle() const;

  // Every token that ends a turn: eos, eot, eom, and those whose name says so. Ascending.
  std::span<const TokenId> end_of_turn_ids() const;

  bool add_bos() const;           // add_special puts bos() first
  bool add_eos() const;           // add_special puts eos() last
  bool add_space_prefix() const;  // a space is put before a text
  bool clean_up() const;          // the model's own decoder cleans up

  // SHA-256, 64 lower-case hex digits, over everything that decides ids and text. Takes milliseconds.
  std::string hash() const;

  struct Body;
  explicit Tokenizer(std::unique_ptr<const Body> body);  // made by the factories

 private:
  std::unique_ptr<const Body> body_;
};

}  // namespace hz::text
