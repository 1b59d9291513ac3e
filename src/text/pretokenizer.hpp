// SPDX-License-Identifier: Apache-2.0
// PreTokenizer: cuts text into the pieces inside which byte-pair merges happen.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/text/regex.hpp"

namespace hz::text::detail {

// One way to cut. Steps are applied in order, each inside the pieces of those before it.
enum class Cut : std::uint8_t {
  isolate,         // what the pattern matches becomes a piece; so does what lies between matches
  remove,          // as isolate, but what it matches is left out
  merge_next,      // a match begins a piece that reaches to the next match
  merge_previous,  // a match ends the piece before it
  contiguous,      // as isolate, neighbouring matches together
  keep_matches,    // what the pattern matches becomes a piece, the rest is left out
  digits,          // runs of decimal digits get a cut before every third digit, counted from their end
  word_digits,     // such runs are isolated and cut so, unless a letter, mark or '_' follows
};

struct CutStep {
  Cut cut;
  std::string_view pattern;  // empty for digits, word_digits
};

// What a `tokenizer.ggml.pre` name means.
struct PreSpec {
  std::string_view name;
  std::span<const CutStep> steps;
  bool ignore_merges = false;  // a piece that is a token needs no merges
  bool add_bos = false;        // the default where the file does not say
  bool clean_up = false;       // the decoder removes spaces before punctuation
  bool nfc = false;            // text is normalised to NFC first
  bool raw = false;            // characters instead of the printable stand-ins for bytes; U+2581 for spaces
};

// Null when no such pre-tokenizer is known.
const PreSpec* find_pre(std::string_view name);
std::vector<std::string_view> pre_names();

class PreTokenizer {
 public:
  explicit PreTokenizer(std::span<const CutStep> steps);

  struct Piece {
    std::uint32_t begin, end;  // bytes of the text
  };
  // Scratch memory of one thread.
  class Splitter {
   public:
    explicit Splitter(const PreTokenizer& pre);
    // The pieces of a valid UTF-8 text, in order. Valid until the next call.
    const std::vector<Piece>& split(std::string_view text);

   private:
    void apply(std::size_t step, std::string_view text);
    const PreTokenizer* pre_;
    std::vector<Regex::Matcher> matchers_;  // one per step with a pattern
    std::vector<Piece> pieces_, next_;
  };

 private:
  struct Step {
    Cut cut;
    int regex;  // index, or -1
  };
  std::vector<Step> steps_;
  std::vector<Regex> regexes_;
};

}  // namespace hz::text::detail
