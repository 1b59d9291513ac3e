// SPDX-License-Identifier: Apache-2.0
// What happens to a text before it is cut into tokens: a chain of rewriting steps that keep track of origins.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/text/algorithm.hpp"
#include "src/text/aligned_text.hpp"
#include "src/text/charsmap.hpp"
#include "src/text/regex.hpp"

namespace hz::text::detail {

enum class Form { nfc, nfd, nfkc, nfkd };

// Appends the normalised text to out; ill-formed bytes are kept as they are. Linear but for sorting the marks
// of one base character.
void normalize(std::string_view text, Form form, AlignedText& out);

// White_Space of Unicode.
bool is_space(char32_t cp);
// Letters, marks, numbers and connectors such as '_'.
bool is_word(char32_t cp);

struct NormStep {
  enum class Kind : std::uint8_t {
    form,            // Unicode normalisation
    lowercase,       // without regard to context
    strip_accents,   // drops nonspacing marks
    replace,         // every `from` by `to`
    replace_match,   // every match of `pattern` by `to`
    prepend,         // `to` before a text that is not empty, see when and unless_there
    strip,           // white space at the ends: `left`, `right`
    squeeze,         // spaces at the ends, and all but one of a run
    clean,           // BERT: control characters away, white space to spaces
    space_han,       // BERT: spaces around Han characters
    charsmap,        // SentencePiece rules
  };
  enum class When : std::uint8_t { always, after_special, first };

  Kind kind{};
  Form form = Form::nfc;
  std::string from = {}, to = {};
  When when = When::always;
  bool unless_there = false;  // not before a text that begins with `to` or with a space
  bool left = false, right = false;
  std::shared_ptr<const Regex> pattern = {};
  std::shared_ptr<const Charsmap> map = {};
};

class NormChain {
 public:
  NormChain() = default;
  explicit NormChain(std::vector<NormStep> steps) : steps_(std::move(steps)) {}

  // The rewritten text of a fragment; nullopt when it stays as it is.
  std::optional<AlignedText> apply(const Fragment& fragment, bool track) const;

 private:
  std::vector<NormStep> steps_;
};

}  // namespace hz::text::detail
