// SPDX-License-Identifier: Apache-2.0
// GrammarTree: building it, and what must hold before it can be compiled.
#include "src/engine/grammar/tree.hpp"

#include <utility>

#include "hanzo/core/error.hpp"

namespace hz::engine {
namespace {

std::size_t index(std::int32_t id) { return static_cast<std::size_t>(id); }

// Least fixed point of: an expression is true if it is a true leaf, or all (sequence), any (choice) or the one of its
// parts are. Each edge is looked at once.
template <class Leaf>
std::vector<bool> derive(const GrammarTree& tree, Leaf&& leaf) {
  const std::size_t n = tree.expr_count();
  std::vector<std::vector<ExprId>> users(n);
  std::vector<std::vector<ExprId>> callers(tree.rule_count());
  std::vector<std::vector<RuleId>> bodies(n);
  std::vector<std::size_t> missing(n, 0);
  std::vector<bool> is_true(n, false);
  std::vector<ExprId> ready;
  const auto set = [&](ExprId id) {
    if (!is_true[index(id)]) {
      is_true[index(id)] = true;
      ready.push_back(id);
    }
  };
  for (std::size_t r = 0; r < tree.rule_count(); ++r)
    if (const ExprId body = tree.rule_at(static_cast<RuleId>(r)).body; body >= 0) bodies[index(body)].push_back(static_cast<RuleId>(r));
  for (std::size_t i = 0; i < n; ++i) {
    const auto id = static_cast<ExprId>(i);
    const Expr& e = tree.expr(id);
    for (const ExprId part : e.parts) users[index(part)].push_back(id);
    if (e.kind == Expr::Kind::rule) callers[index(e.rule)].push_back(id);
    missing[i] = e.kind == Expr::Kind::sequence ? e.parts.size() : 1;
    if (leaf(e) || missing[i] == 0) set(id);
  }
  while (!ready.empty()) {
    const ExprId id = ready.back();
    ready.pop_back();
    for (const ExprId user : users[index(id)])
      if (!is_true[index(user)] && --missing[index(user)] == 0) set(user);
    for (const RuleId rule : bodies[index(id)])
      for (const ExprId caller : callers[index(rule)]) set(caller);
  }
  return is_true;
}

// The rules that an expression may enter before any character.
std::vector<RuleId> leftmost(const GrammarTree& tree, ExprId body, const std::vector<bool>& nullable, std::vector<bool>& seen) {
  std::vector<RuleId> rules;
  std::vector<ExprId> todo{body}, visited;
  while (!todo.empty()) {
    const ExprId id = todo.back();
    todo.pop_back();
    if (seen[index(id)]) continue;
    seen[index(id)] = true;
    visited.push_back(id);
    const Expr& e = tree.expr(id);
    if (e.kind == Expr::Kind::rule) rules.push_back(e.rule);
    for (const ExprId part : e.parts) {
      todo.push_back(part);
      if (e.kind == Expr::Kind::sequence && !nullable[index(part)]) break;
    }
  }
  for (const ExprId id : visited) seen[index(id)] = false;
  return rules;
}

void check_left_recursion(const GrammarTree& tree) {
  const std::vector<bool> nullable = nullable_exprs(tree);
  std::vector<bool> seen(tree.expr_count(), false);
  std::vector<std::vector<RuleId>> enters;
  for (std::size_t r = 0; r < tree.rule_count(); ++r)
    enters.push_back(leftmost(tree, tree.rule_at(static_cast<RuleId>(r)).body, nullable, seen));
  enum : std::uint8_t { fresh, open, done };
  std::vector<std::uint8_t> mark(tree.rule_count(), fresh);
  for (std::size_t start = 0; start < tree.rule_count(); ++start) {
    if (mark[start] != fresh) continue;
    std::vector<std::pair<std::size_t, std::size_t>> path{{start, 0}};
    mark[start] = open;
    while (!path.empty()) {
      auto& [rule, next] = path.back();
      if (next == enters[rule].size()) {
        mark[rule] = done;
        path.pop_back();
        continue;
      }
      const std::size_t to = index(enters[rule][next++]);
      if (mark[to] == fresh) {
        mark[to] = open;
        path.emplace_back(to, 0);
      } else if (mark[to] == open) {
        std::size_t i = path.size();
        while (path[i - 1].first != to) --i;
        std::string cycle;
        for (--i; i < path.size(); ++i) cycle += tree.rule_at(static_cast<RuleId>(path[i].first)).name + " -> ";
        const Rule& r = tree.rule_at(static_cast<RuleId>(to));
        throw Error(ErrorKind::usage, "left recursion: " + cycle + r.name, r.where, "put what the rule begins with first, or use * or +");
      }
    }
  }
}

}  // namespace

ExprId GrammarTree::add(Expr e) {
  if (exprs_.size() >= kMostExprs)
    throw Error(ErrorKind::usage, "the grammar has more than " + std::to_string(kMostExprs) + " parts", "grammar");
  exprs_.push_back(std::move(e));
  return static_cast<ExprId>(exprs_.size()) - 1;
}
ExprId GrammarTree::literal(std::string_view text) {
  Expr e;
  e.text = text;
  return add(std::move(e));
}
ExprId GrammarTree::chars(CodePointSet set) {
  if (set.empty()) throw Error(ErrorKind::usage, "a set of characters is empty: nothing can match", "grammar");
  Expr e;
  e.kind = Expr::Kind::chars;
  e.set = std::move(set);
  return add(std::move(e));
}
ExprId GrammarTree::reference(RuleId rule) {
  Expr e;
  e.kind = Expr::Kind::rule;
  e.rule = rule;
  return add(std::move(e));
}
ExprId GrammarTree::sequence(std::vector<ExprId> parts) {
  if (parts.size() == 1) return parts[0];
  Expr e;
  e.kind = Expr::Kind::sequence;
  e.parts = std::move(parts);
  return add(std::move(e));
}
ExprId GrammarTree::choice(std::vector<ExprId> parts) {
  if (parts.size() == 1) return parts[0];
  Expr e;
  e.kind = Expr::Kind::choice;
  e.parts = std::move(parts);
  return add(std::move(e));
}
ExprId GrammarTree::repeat(ExprId part, std::int32_t min, std::int32_t max) {
  if (min == 1 && max == 1) return part;
  if (max == 0) return literal("");
  Expr e;
  e.kind = Expr::Kind::repeat;
  e.parts = {part};
  e.min = min;
  e.max = max;
  return add(std::move(e));
}

RuleId GrammarTree::rule(std::string_view name, std::string_view where) {
  const auto [at, added] = by_name_.try_emplace(std::string(name), static_cast<RuleId>(rules_.size()));
  if (added) rules_.push_back({std::string(name), -1, std::string(where)});
  return at->second;
}
void GrammarTree::define(RuleId rule, ExprId body, std::string_view where) {
  Rule& r = rules_[index(rule)];
  r.body = body;
  if (!where.empty()) r.where = where;
}

std::vector<bool> nullable_exprs(const GrammarTree& tree) {
  return derive(tree, [](const Expr& e) {
    return (e.kind == Expr::Kind::literal && e.text.empty()) || (e.kind == Expr::Kind::repeat && e.min == 0);
  });
}

void check_tree(const GrammarTree& tree) {
  for (std::size_t r = 0; r < tree.rule_count(); ++r) {
    const Rule& rule = tree.rule_at(static_cast<RuleId>(r));
    if (rule.body < 0) throw Error(ErrorKind::usage, "rule '" + rule.name + "' is not defined", rule.where);
  }
  check_left_recursion(tree);
  const std::vector<bool> ends = derive(tree, [](const Expr& e) {
    return e.kind == Expr::Kind::literal || e.kind == Expr::Kind::chars || (e.kind == Expr::Kind::repeat && e.min == 0);
  });
  for (std::size_t r = 0; r < tree.rule_count(); ++r) {
    const Rule& rule = tree.rule_at(static_cast<RuleId>(r));
    if (!ends[index(rule.body)])
      throw Error(ErrorKind::usage, "rule '" + rule.name + "' can never end: every way through it needs itself again", rule.where,
                  "give it an alternative without recursion");
  }
}

}  // namespace hz::engine
