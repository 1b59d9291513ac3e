// SPDX-License-Identifier: Apache-2.0
// The `pre_tokenizer` of a tokenizer.json.
#include <fmt/format.h>

#include "src/text/hf/steps.hpp"
#include "src/text/vocab.hpp"

namespace hz::text::hf {
namespace {

using namespace detail;
using Kind = NormStep::Kind;
using When = NormStep::When;

constexpr const char* kGpt2 = "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+";
constexpr const char* kPunctuation = "[\\p{P}!-/:-@\\[-`{-~]";

// Patterns of known files that take quadratic time on long runs, and cuts with the same result that do not.
struct Known {
  std::string_view pattern;
  Cut cut;
  std::string_view instead;
};
constexpr Known kKnown[] = {
    {"\\s+$", Cut::isolate, "(?<!\\s)\\s++\\z"},
    {"\\d{1,3}(?=(?:\\d{3})*\\b)", Cut::word_digits, {}},
    {"(?=(\\d{3})+(?!\\d))", Cut::digits, {}},
};

std::string escaped(std::string_view literal) {
  std::string out;
  for (const char c : literal) {
    if (std::string_view("\\^$.|?*+()[]{}-").find(c) != std::string_view::npos) out += '\\';
    out += c;
  }
  return out;
}

Cut cut_of(const Node& node, const std::string& behavior, bool invert) {
  if (behavior == "Isolated") return Cut::isolate;
  if (behavior == "Removed") return invert ? Cut::keep_matches : Cut::remove;
  if (!invert) {
    if (behavior == "MergedWithPrevious") return Cut::merge_previous;
    if (behavior == "MergedWithNext") return Cut::merge_next;
    if (behavior == "Contiguous") return Cut::contiguous;
  }
  node.unsupported(fmt::format("the behavior '{}'{} is not built", behavior, invert ? " inverted" : ""));
}

void read_split(const Node& node, Steps& steps) {
  const Node pattern = node["pattern"];
  const bool literal = pattern["String"].present();
  const std::string text = literal ? escaped(pattern["String"].text()) : pattern["Regex"].text();
  const Cut cut = cut_of(node, node["behavior"].text(), node["invert"].flag(false));
  if (!literal && cut == Cut::isolate)
    for (const Known& k : kKnown)
      if (k.pattern == text) return steps.cut(k.cut, std::string(k.instead));
  read_pattern(pattern, text);
  steps.cut(cut, text);
}

void read_metaspace(const Node& node, Steps& steps) {
  const std::string mark = node["replacement"].text(std::string(kSpaceMark));
  const std::string scheme = node["prepend_scheme"].text(node["add_prefix_space"].flag(true) ? "always" : "never");
  // Behind a cut at white space, every word gets a mark.
  if (steps.cuts.size() == 1 && steps.cuts[0].cut == Cut::remove && steps.cuts[0].pattern == "\\s+") {
    if (scheme != "always") node.unsupported(fmt::format("the scheme '{}' behind WhitespaceSplit is not built", scheme));
    steps.cuts.clear();
    steps.chain.push_back({.kind = Kind::strip, .left = true, .right = true});
    // A word that begins with a mark of its own gets none.
    steps.chain.push_back(
        {.kind = Kind::replace_match, .to = {}, .pattern = std::make_shared<const Regex>("\\s+(?=" + escaped(mark) + ")")});
    steps.chain.push_back({.kind = Kind::replace_match, .to = mark, .pattern = std::make_shared<const Regex>("\\s+")});
  } else if (!steps.cuts.empty()) {
    node.unsupported("Metaspace behind other cuts is not built");
  }
  if (scheme == "always" || scheme == "first")
    steps.chain.push_back(
        {.kind = Kind::prepend, .to = mark, .when = scheme == "first" ? When::first : When::always, .unless_there = true});
  else if (scheme != "never")
    node.bad(fmt::format("has the unknown prepend_scheme '{}'", scheme));
  steps.chain.push_back({.kind = Kind::replace, .from = " ", .to = mark});
  if (node["split"].flag(true)) steps.cut(Cut::merge_next, escaped(mark));
}

void read_byte_level(const Node& node, Steps& steps) {
  steps.byte_level = true;
  if (node["add_prefix_space"].flag(true)) {
    if (!steps.cuts.empty()) node.unsupported("add_prefix_space behind other cuts is not built");
    steps.chain.push_back({.kind = Kind::prepend, .to = " ", .unless_there = true});
  }
  if (node["use_regex"].flag(true)) steps.cut(Cut::isolate, kGpt2);
}

}  // namespace

void read_pre_tokenizer(const Node& node, Steps& steps) {
  if (!node.present()) return;
  const std::string type = node["type"].text();
  if (type == "Sequence") {
    const Node list = node["pretokenizers"];
    for (std::size_t i = 0; i < list.size(); ++i) read_pre_tokenizer(list.at(i), steps);
  } else if (type == "ByteLevel") {
    read_byte_level(node, steps);
  } else if (type == "Split") {
    read_split(node, steps);
  } else if (type == "Metaspace") {
    read_metaspace(node, steps);
  } else if (type == "Digits") {
    steps.cut(Cut::isolate, node["individual_digits"].flag(false) ? "\\p{N}" : "\\p{N}+");
  } else if (type == "Punctuation") {
    steps.cut(cut_of(node, node["behavior"].text("Isolated"), false), kPunctuation);
  } else if (type == "Whitespace") {
    // Here joiners belong to words, as in Rust's regular expressions.
    steps.cut(Cut::keep_matches, "[\\w\\x{200C}\\x{200D}]+|[^\\w\\x{200C}\\x{200D}\\s]+");
  } else if (type == "WhitespaceSplit") {
    steps.cut(Cut::remove, "\\s+");
  } else if (type == "BertPreTokenizer") {
    steps.cut(Cut::remove, "\\s+");
    steps.cut(Cut::isolate, kPunctuation);
  } else if (type == "CharDelimiterSplit") {
    steps.cut(Cut::remove, escaped(node["delimiter"].text()));
  } else {
    node.unsupported(fmt::format("the pre-tokenizer '{}' is not built", type));
  }
}

}  // namespace hz::text::hf
