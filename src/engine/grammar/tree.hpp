// SPDX-License-Identifier: Apache-2.0
// GrammarTree: rules and their expressions, as GBNF and JSON Schema make them.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "src/engine/grammar/code_points.hpp"

namespace hz::engine {

using ExprId = std::int32_t;
using RuleId = std::int32_t;

inline constexpr std::int32_t kUnlimited = -1;
inline constexpr std::int32_t kMostRepeats = 1'000'000;
inline constexpr std::size_t kMostExprs = 4'000'000;

struct Expr {
  enum class Kind : std::uint8_t { literal, chars, rule, sequence, choice, repeat };
  Kind kind = Kind::literal;
  std::string text;              // literal: UTF-8, may be empty
  CodePointSet set;              // chars: one of these
  RuleId rule = -1;              // rule: a reference
  std::vector<ExprId> parts;     // sequence, choice; repeat: one
  std::int32_t min = 0, max = 0; // repeat; max may be kUnlimited
};

struct Rule {
  std::string name;
  ExprId body = -1;    // -1: only referred to so far
  std::string where;   // of the definition, else of the first reference
};

// Expressions may share parts; a rule may refer to any rule, in any order of definition.
class GrammarTree {
 public:
  ExprId literal(std::string_view text);
  ExprId chars(CodePointSet set);  // not empty
  ExprId reference(RuleId rule);
  ExprId sequence(std::vector<ExprId> parts);
  ExprId choice(std::vector<ExprId> parts);  // at least one
  ExprId repeat(ExprId part, std::int32_t min, std::int32_t max);
  ExprId optional(ExprId part) { return repeat(part, 0, 1); }

  // The rule of that name, made on first use.
  RuleId rule(std::string_view name, std::string_view where = {});
  bool has_rule(std::string_view name) const { return by_name_.count(std::string(name)) > 0; }
  void define(RuleId rule, ExprId body, std::string_view where = {});

  const Expr& expr(ExprId id) const { return exprs_[static_cast<std::size_t>(id)]; }
  const Rule& rule_at(RuleId id) const { return rules_[static_cast<std::size_t>(id)]; }
  std::size_t expr_count() const { return exprs_.size(); }
  std::size_t rule_count() const { return rules_.size(); }

  RuleId root = -1;

 private:
  ExprId add(Expr e);
  std::vector<Expr> exprs_;
  std::vector<Rule> rules_;
  std::unordered_map<std::string, RuleId> by_name_;
};

// Which expressions can match the empty text.
std::vector<bool> nullable_exprs(const GrammarTree& tree);

// Throws Error(usage) for undefined rules, left recursion, and rules that can never end, naming them.
void check_tree(const GrammarTree& tree);

// Throws Error(usage) with line and column.
GrammarTree parse_gbnf(std::string_view text, std::string_view root);

// The same language in GBNF, one rule a line.
std::string to_gbnf(const GrammarTree& tree);

}  // namespace hz::engine
