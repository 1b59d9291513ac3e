// SPDX-License-Identifier: Apache-2.0
// JsonRules: the parts of JSON text as grammar expressions.
#pragma once
#include <string>
#include <string_view>

#include "src/engine/grammar/tree.hpp"

namespace hz::engine {

// Whitespace is bounded, so that no model can write it for ever: one space or one line break with indentation after
// brackets and commas, one space after a colon. Numbers have up to 16 digits before and after the point.
class JsonRules {
 public:
  explicit JsonRules(GrammarTree& tree) : tree_(tree) {}
  GrammarTree& tree() { return tree_; }

  ExprId gap();        // inside brackets and after a comma
  ExprId any_char();   // one character of a string, plain or escaped; a surrogate pair is one
  ExprId any_string();
  ExprId string_of(std::int32_t min, std::int32_t max);  // by its number of characters
  ExprId number();
  ExprId integer();
  ExprId boolean();
  ExprId null();
  ExprId any_object();
  ExprId any_array();
  ExprId any_value();

  ExprId quoted(ExprId content);                  // between quotation marks
  ExprId string_literal(std::string_view value);  // quoted, escaped where it must be
  // One character of `set` as a string holds it: `"` and `\` escaped, controls as \n or \u001f.
  ExprId encoded(const CodePointSet& set);
  // "[" items "]" and "{" members "}"; `comma` goes between two.
  ExprId bracketed(std::string_view open, ExprId content, std::string_view close);
  ExprId comma();
  ExprId digits(std::int32_t min, std::int32_t max);

 private:
  template <class Make>
  ExprId named(const char* name, Make&& make) {
    const bool made = tree_.has_rule(name);
    const RuleId rule = tree_.rule(name, "JSON");
    if (!made) tree_.define(rule, make());
    return tree_.reference(rule);
  }
  GrammarTree& tree_;
};

// The characters that a JSON string holds as they are.
const CodePointSet& plain_string_chars();

// value as JSON text, characters beyond ASCII as they are.
std::string json_quoted(std::string_view value);

}  // namespace hz::engine
