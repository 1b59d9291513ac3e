// SPDX-License-Identifier: Apache-2.0
// Expressions, lowest precedence first.
#include <optional>

#include "src/text/jinja/interp.hpp"
#include "src/text/jinja/parser.hpp"

namespace hz::text::jinja {

namespace {

std::optional<Comparison> comparison(const Token& t) {
  if (t.type != Token::Type::op) return std::nullopt;
  if (t.text == "==") return Comparison::eq;
  if (t.text == "!=") return Comparison::ne;
  if (t.text == "<") return Comparison::lt;
  if (t.text == "<=") return Comparison::le;
  if (t.text == ">") return Comparison::gt;
  if (t.text == ">=") return Comparison::ge;
  return std::nullopt;
}

std::optional<Arith> arith(const Token& t, std::initializer_list<std::pair<std::string_view, Arith>> table) {
  if (t.type != Token::Type::op) return std::nullopt;
  for (const auto& [text, op] : table) {
    if (t.text == text) return op;
  }
  return std::nullopt;
}

std::unique_ptr<Chain> chain(ExprPtr first, std::uint32_t line) {
  auto c = std::make_unique<Chain>(line);
  c->first = std::move(first);
  return c;
}

}  // namespace

ExprPtr Parser::tuple(bool with_condition, std::string_view end_word, bool parenthesised) {
  const std::uint32_t at = line();
  const auto ended = [&] {
    return is(Type::variable_end) || is(Type::block_end) || is_op(")") || (!end_word.empty() && is_word(end_word));
  };
  auto items = std::make_unique<Items>(Expr::Op::tuple, at);
  bool is_tuple = false;
  while (true) {
    if (!items->items.empty()) expect_op(",");
    if (ended()) break;
    items->items.push_back(expression(with_condition));
    if (!is_op(",")) break;
    is_tuple = true;
  }
  if (!is_tuple) {
    if (!items->items.empty()) return std::move(items->items[0]);
    if (!parenthesised) fail("expected an expression, got " + describe(current()));
  }
  return items;
}

ExprPtr Parser::expression(bool with_condition) {
  const Nest nest(*this, expr_depth_);
  return with_condition ? condition() : logic_or();
}

ExprPtr Parser::condition() {
  const std::uint32_t at = line();
  const std::size_t unknown = unknown_.size();
  ExprPtr value = logic_or();
  // `a if b if c` nests to the left.
  for (int nested = 0; skip_word("if"); ++nested) {
    if (nested > kMaxDepth) too_deep();
    auto c = std::make_unique<Condition>(at);
    c->yes = std::move(value);
    c->test = logic_or();
    if (skip_word("else")) {
      const Nest nest(*this, expr_depth_);
      c->no = condition();
    }
    value = std::move(c);
    forget_unknown(unknown);
  }
  return value;
}

ExprPtr Parser::logic_or() {
  ExprPtr first = logic_and();
  if (!is_word("or")) return first;
  auto items = std::make_unique<Items>(Expr::Op::logic_or, first->line);
  items->items.push_back(std::move(first));
  while (skip_word("or")) items->items.push_back(logic_and());
  return items;
}

ExprPtr Parser::logic_and() {
  ExprPtr first = logic_not();
  if (!is_word("and")) return first;
  auto items = std::make_unique<Items>(Expr::Op::logic_and, first->line);
  items->items.push_back(std::move(first));
  while (skip_word("and")) items->items.push_back(logic_not());
  return items;
}

ExprPtr Parser::logic_not() {
  if (!is_word("not")) return compare();
  const Nest nest(*this, expr_depth_);
  const std::uint32_t at = line();
  next();
  return std::make_unique<Unary>(Unary::Sign::logic_not, logic_not(), at);
}

ExprPtr Parser::compare() {
  ExprPtr first = sum();
  std::optional<Comparison> op = take_comparison();
  if (!op) return first;
  auto node = std::make_unique<Compare>(first->line);
  node->first = std::move(first);
  for (; op; op = take_comparison()) node->rest.emplace_back(*op, sum());
  return node;
}

std::optional<Comparison> Parser::take_comparison() {
  if (const auto op = comparison(current())) {
    next();
    return op;
  }
  if (skip_word("in")) return Comparison::in;
  if (!is_word("not") || look().type != Type::name || look().text != "in") return std::nullopt;
  next();
  next();
  return Comparison::not_in;
}

ExprPtr Parser::sum() {
  ExprPtr first = concat();
  std::unique_ptr<Chain> node;
  while (const auto op = arith(current(), {{"+", Arith::add}, {"-", Arith::sub}})) {
    next();
    if (!node) node = chain(std::move(first), line());
    node->rest.emplace_back(*op, concat());
  }
  if (node) return node;
  return first;
}

ExprPtr Parser::concat() {
  ExprPtr first = product();
  if (!is_op("~")) return first;
  auto items = std::make_unique<Items>(Expr::Op::concat, first->line);
  items->items.push_back(std::move(first));
  while (skip_op("~")) items->items.push_back(product());
  return items;
}

ExprPtr Parser::product() {
  ExprPtr first = power();
  std::unique_ptr<Chain> node;
  while (const auto op = arith(current(), {{"*", Arith::mul}, {"/", Arith::div}, {"//", Arith::floor_div}, {"%", Arith::mod}})) {
    next();
    if (!node) node = chain(std::move(first), line());
    node->rest.emplace_back(*op, power());
  }
  if (node) return node;
  return first;
}

// From left to right, as jinja does: 2 ** 3 ** 2 is 64.
ExprPtr Parser::power() {
  ExprPtr first = unary();
  std::unique_ptr<Chain> node;
  while (is_op("**")) {
    next();
    if (!node) node = chain(std::move(first), line());
    node->rest.emplace_back(Arith::pow, unary());
  }
  if (node) return node;
  return first;
}

ExprPtr Parser::unary(bool with_filter) {
  if (!is_op("-") && !is_op("+")) return postfix(primary(), with_filter);
  const Nest nest(*this, expr_depth_);
  const std::uint32_t at = line();
  const auto sign = next().text == "-" ? Unary::Sign::negate : Unary::Sign::plus;
  return postfix(std::make_unique<Unary>(sign, unary(false), at), with_filter);
}

ExprPtr Parser::primary() {
  switch (current().type) {
    case Type::name: return name_or_constant();
    case Type::string: return string_constant();
    case Type::integer:
    case Type::real: return number_constant();
    default: break;
  }
  if (is_op("[")) return list();
  if (is_op("{")) return dict();
  if (!skip_op("(")) fail("unexpected " + describe(current()));
  ExprPtr inner = tuple(true, {}, true);
  expect_op(")");
  return inner;
}

ExprPtr Parser::name_or_constant() {
  const std::uint32_t at = line();
  const std::string name = next().text;
  if (name == "true" || name == "True") return std::make_unique<Constant>(Value::boolean(true), at);
  if (name == "false" || name == "False") return std::make_unique<Constant>(Value::boolean(false), at);
  if (name == "none" || name == "None") return std::make_unique<Constant>(Value::none(), at);
  if (name == "loop") ++loops_;
  if (name == "caller") ++callers_;
  if (name == "varargs") ++varargs_;
  if (name == "kwargs") ++kwargs_;
  return std::make_unique<Name>(out_.names.id(name), at);
}

Value Parser::text_constant(std::string text) { return literal_string(std::move(text), out_.owned); }

ExprPtr Parser::string_constant() {
  const std::uint32_t at = line();
  std::string text;
  while (is(Type::string)) text += next().text;
  return std::make_unique<Constant>(text_constant(std::move(text)), at);
}

ExprPtr Parser::number_constant() {
  const Token token = next();
  if (token.type == Type::real) {
    return std::make_unique<Constant>(Value::real(parse_real(token.text).value_or(0)), token.line);
  }
  try {
    const BigInt v = parse_int(token.text, 0).value_or(BigInt());
    if (const auto small = v.small()) return std::make_unique<Constant>(Value::integer(*small), token.line);
    auto big = std::make_unique<Big>(v);
    Value value = Value::object(Kind::big, big.get());
    out_.owned.push_back(std::move(big));
    return std::make_unique<Constant>(std::move(value), token.line);
  } catch (const Fault& f) {
    fail(f.what, token.line);
  }
}

ExprPtr Parser::list() {
  auto items = std::make_unique<Items>(Expr::Op::list, line());
  expect_op("[");
  while (!is_op("]")) {
    if (!items->items.empty()) expect_op(",");
    if (is_op("]")) break;
    items->items.push_back(expression());
  }
  expect_op("]");
  return items;
}

ExprPtr Parser::dict() {
  auto node = std::make_unique<DictExpr>(line());
  expect_op("{");
  while (!is_op("}")) {
    if (!node->entries.empty()) expect_op(",");
    if (is_op("}")) break;
    ExprPtr key = expression();
    expect_op(":");
    node->entries.emplace_back(std::move(key), expression());
  }
  expect_op("}");
  return node;
}

ExprPtr Parser::postfix(ExprPtr base, bool with_filter) {
  std::vector<Step> steps;
  while (postfix_step(steps)) {
  }
  while (with_filter && filter_step(steps)) {
  }
  if (steps.empty()) return base;
  auto node = std::make_unique<Postfix>(base->line);
  node->base = std::move(base);
  node->steps = std::move(steps);
  return node;
}

bool Parser::postfix_step(std::vector<Step>& steps) {
  if (is_op(".") || is_op("[")) {
    steps.push_back(subscript());
    return true;
  }
  if (!is_op("(")) return false;
  Step step{};
  step.kind = Step::Kind::call;
  step.line = line();
  step.args = call_args();
  steps.push_back(std::move(step));
  return true;
}

bool Parser::filter_step(std::vector<Step>& steps) {
  if (skip_op("|")) {
    steps.push_back(filter_call());
    return true;
  }
  if (is_word("is")) {
    steps.push_back(test_call());
    return true;
  }
  return is_op("(") && postfix_step(steps);
}

const Attribute* Parser::attribute(const std::string& name) {
  out_.attributes.push_back(std::make_unique<Attribute>(resolve_attribute(name)));
  return out_.attributes.back().get();
}

Step Parser::subscript() {
  Step step{};
  step.line = line();
  if (skip_op(".")) {
    if (is(Type::integer)) {
      step.kind = Step::Kind::item;
      step.index = number_constant();
      return step;
    }
    if (!is(Type::name)) unexpected("name or number");
    step.kind = Step::Kind::attribute;
    const std::string name = next().text;
    step.attribute = attribute(name);
    step.name = text_constant(name);
    return step;
  }
  expect_op("[");
  step.kind = Step::Kind::item;
  auto items = std::make_unique<Items>(Expr::Op::tuple, step.line);
  while (!is_op("]")) {
    if (!items->items.empty()) expect_op(",");
    items->items.push_back(subscribed(step));
  }
  expect_op("]");
  if (step.kind == Step::Kind::slice) {
    if (items->items.size() > 1) fail("a slice among several subscripts", step.line);
    return step;
  }
  step.index = items->items.size() == 1 ? std::move(items->items[0]) : std::move(items);
  return step;
}

// One subscript; a slice goes into `step` and leaves null.
ExprPtr Parser::subscribed(Step& step) {
  ExprPtr from;
  if (!is_op(":")) {
    from = expression();
    if (!is_op(":")) return from;
  }
  next();
  step.kind = Step::Kind::slice;
  step.from = std::move(from);
  const auto ended = [&] { return is_op("]") || is_op(","); };
  if (!is_op(":") && !ended()) step.to = expression();
  if (skip_op(":") && !ended()) step.by = expression();
  return nullptr;
}

CallArgs Parser::call_args() {
  const std::uint32_t at = line();
  const auto ensure = [&](bool ok) {
    if (!ok) fail("invalid syntax for function call expression", at);
  };
  CallArgs args;
  expect_op("(");
  bool comma = false;
  while (!is_op(")")) {
    if (comma) {
      expect_op(",");
      if (is_op(")")) break;
    }
    comma = true;
    if (skip_op("*")) {
      ensure(!args.star && !args.star_star);
      args.star = expression();
    } else if (skip_op("**")) {
      ensure(!args.star_star);
      args.star_star = expression();
    } else if (is(Type::name) && look().type == Type::op && look().text == "=") {
      ensure(!args.star_star);
      std::string name = next().text;
      next();
      args.named.emplace_back(std::move(name), expression());
    } else {
      ensure(!args.star && !args.star_star && args.named.empty());
      args.positional.push_back(expression());
    }
  }
  expect_op(")");
  return args;
}

std::string Parser::dotted_name() {
  std::string name = expect_name();
  while (skip_op(".")) name += "." + expect_name();
  return name;
}

Step Parser::filter_call() {
  Step step{};
  step.kind = Step::Kind::filter;
  step.line = line();
  const std::string name = dotted_name();
  step.name = text_constant(name);
  step.filter = find_filter(name);
  if (step.filter == nullptr) unknown_.push_back({"No filter named '" + name + "'.", step.line});
  if (is_op("(")) step.args = call_args();
  return step;
}

Step Parser::test_call() {
  Step step{};
  step.line = line();
  next();
  step.kind = skip_word("not") ? Step::Kind::not_test : Step::Kind::test;
  const std::string name = dotted_name();
  step.name = text_constant(name);
  step.test = find_test(name);
  if (step.test == nullptr) unknown_.push_back({"No test named '" + name + "'.", step.line});
  test_args(step);
  return step;
}

void Parser::test_args(Step& step) {
  if (is_op("(")) {
    step.args = call_args();
    return;
  }
  const bool starts = is(Type::name) || is(Type::string) || is(Type::integer) || is(Type::real) || is_op("[") || is_op("{");
  if (!starts || is_word({"else", "or", "and"})) return;
  if (is_word("is")) fail("You cannot chain multiple tests with is");
  step.args.positional.push_back(postfix(primary(), false));
}

}  // namespace hz::text::jinja
