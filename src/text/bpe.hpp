// SPDX-License-Identifier: Apache-2.0
// Bpe: byte-pair encoding of pieces (Sennrich et al. 2016; byte-level as in GPT-2).
#pragma once
#include <string>

#include "src/text/merges.hpp"
#include "src/text/pipeline.hpp"

namespace hz::text::detail {

// GPT-2's printable stand-ins: vocabularies write byte b as character byte_to_char(b).
char32_t byte_to_char(unsigned char b);
// The bytes of a text in stand-ins; a text with other characters is returned as it is.
std::string decode_byte_chars(std::string_view text);

struct BpeOptions {
  bool byte_level = true;      // else symbols are characters, with <0x00> … <0xFF> for those that are no token
  bool ignore_merges = false;  // a piece that is a token needs no merges
  bool newline_runs = false;   // a piece of newlines that is a token needs no merges
  bool fuse_unknown = false;   // a run of unknown characters gives one unknown token
  std::string continuing = {}; // put before symbols inside a piece ("##"), characters only
  std::string last = {};       // put behind the last symbol of a piece ("</w>"), characters only
};

class Bpe : public PieceModel {
 public:
  Bpe(const Vocab& vocab, Merges merges, BpeOptions options);
  std::unique_ptr<PieceEncoder> start(PieceOutput& out) const override;
  void hash(io::Sha256& sha) const override { merges_.hash(sha); }

 private:
  class Encoder;
  const Vocab& vocab_;
  Merges merges_;
  BpeOptions options_;
  TokenId byte_ids_[256];  // byte level: of the stand-ins; else of <0xNN>
};

// Reads `tokenizer.ggml.merges`; rules that would make a control token of text are left out. Error(bad_file) naming
// the rule when one is not made of known tokens.
Merges read_merges(const Vocab& vocab, const io::Metadata& metadata);

}  // namespace hz::text::detail
