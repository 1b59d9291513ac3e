// SPDX-License-Identifier: Apache-2.0
// Statements and the token stream.
#include <algorithm>

#include "src/text/jinja/parser.hpp"

namespace hz::text::jinja {

Parser::Nest::Nest(const Parser& parser, int& depth) : depth_(depth) {
  if (depth_ >= kMaxDepth) parser.too_deep();
  ++depth_;
}

void Parser::too_deep() const { fail("the template nests deeper than " + std::to_string(kMaxDepth)); }

void Parser::fail(const std::string& what, std::uint32_t at) const { throw SyntaxFault{what, at != 0 ? at : line()}; }

void Parser::unexpected(std::string_view wanted) const { fail("expected " + std::string(wanted) + ", got " + describe(current())); }

bool Parser::is_word(Words words) const {
  return std::any_of(words.begin(), words.end(), [&](std::string_view w) { return is_word(w); });
}

bool Parser::skip_op(std::string_view op) {
  if (!is_op(op)) return false;
  next();
  return true;
}

bool Parser::skip_word(std::string_view word) {
  if (!is_word(word)) return false;
  next();
  return true;
}

void Parser::expect_op(std::string_view op) {
  if (!skip_op(op)) unexpected("'" + std::string(op) + "'");
}

void Parser::expect_word(std::string_view word) {
  if (!skip_word(word)) unexpected("'" + std::string(word) + "'");
}

void Parser::expect(Type type, std::string_view what) {
  if (!is(type)) unexpected(what);
  next();
}

std::string Parser::expect_name() {
  if (!is(Type::name)) unexpected("a name");
  return next().text;
}

void Parser::parse() {
  out_.body = subparse({});
  if (!unknown_.empty()) throw SyntaxFault(std::move(unknown_.front()));
  find_hidden_names(out_);
}

Body Parser::statements(Words ends, bool drop_end) {
  skip_op(":");
  expect(Type::block_end, "end of statement block");
  Body body = subparse(ends);
  if (is(Type::end)) {
    std::string wanted;
    for (const auto end : ends) wanted += (wanted.empty() ? "'" : " or '") + std::string(end) + "'";
    fail("Unexpected end of template: '" + open_tags_.back() + "' needs " + wanted);
  }
  if (drop_end) next();
  return body;
}

Body Parser::subparse(Words ends) {
  const Nest nest(*this, stmt_depth_);
  Body body;
  std::unique_ptr<Output> output;
  const auto add = [&](ExprPtr e) {
    if (!output) output = std::make_unique<Output>(e->line);
    output->items.push_back(std::move(e));
  };
  while (!is(Type::end)) {
    if (is(Type::data)) {
      const std::uint32_t at = line();
      add(std::make_unique<Constant>(text_constant(next().text), at));
    } else if (is(Type::variable_begin)) {
      next();
      add(tuple(true, {}, false));
      expect(Type::variable_end, "end of print statement");
    } else {
      next();  // block_begin
      if (output) body.push_back(std::move(output));
      if (ends.size() != 0 && is_word(ends)) return body;
      statement(body);
      expect(Type::block_end, "end of statement block");
    }
  }
  if (output) body.push_back(std::move(output));
  return body;
}

void Parser::statement(Body& body) {
  const std::uint32_t at = line();
  if (!is(Type::name)) fail("tag name expected");
  const std::string name = next().text;
  open_tags_.push_back(name);
  body.push_back(tag(name, at));
  open_tags_.pop_back();
}

std::unique_ptr<Stmt> Parser::tag(const std::string& name, std::uint32_t at) {
  if (name == "for") return for_tag(at);
  if (name == "if") return if_tag(at);
  if (name == "set") return set_tag(at);
  if (name == "macro") return macro_tag(at);
  if (name == "call") return call_tag(at);
  if (name == "filter") return filter_tag(at);
  if (name == "with") return with_tag(at);
  if (name == "block") return block_tag(at);
  if (name == "generation") return generation_tag(at);
  if (name == "break" || name == "continue") return jump_tag(name, at);
  if (name == "print") {
    auto output = std::make_unique<Output>(at);
    print_tag(*output);
    return output;
  }
  return unsupported_tag(name, at);
}

void Parser::print_tag(Output& output) {
  while (!is(Type::block_end)) {
    if (!output.items.empty()) expect_op(",");
    output.items.push_back(expression());
  }
}

std::unique_ptr<Stmt> Parser::for_tag(std::uint32_t at) {
  auto node = std::make_unique<ForStmt>(at);
  node->target = target(false, true, "in");
  expect_word("in");
  node->over = tuple(false, "recursive", false);
  if (skip_word("if")) node->test = expression();
  node->recursive = skip_word("recursive");
  const std::size_t loops = loops_;
  ++loop_depth_;
  node->body = statements({"endfor", "else"}, false);
  --loop_depth_;
  node->uses_loop = node->recursive || loops_ != loops;
  if (next().text == "else") node->otherwise = statements({"endfor"}, true);
  return node;
}

std::unique_ptr<Stmt> Parser::if_tag(std::uint32_t at) {
  auto node = std::make_unique<IfStmt>(at);
  const std::size_t unknown = unknown_.size();
  while (true) {
    ExprPtr test = tuple(false, {}, false);
    Body body = statements({"elif", "else", "endif"}, false);
    node->branches.emplace_back(std::move(test), std::move(body));
    if (skip_word("elif")) continue;
    if (skip_word("else")) node->otherwise = statements({"endif"}, true);
    else next();
    break;
  }
  forget_unknown(unknown);
  return node;
}

void Parser::signature(MacroDef& def) {
  expect_op("(");
  while (!is_op(")")) {
    if (!def.parameters.empty()) expect_op(",");
    def.parameter_names.push_back(current().text);
    def.parameters.push_back(target_name());
    if (skip_op("=")) def.defaults.push_back(expression());
    else if (!def.defaults.empty()) fail("non-default argument follows default argument");
  }
  expect_op(")");
}

// The body, and which of the special names it mentions that are not parameters.
Body Parser::macro_body(MacroDef& def, Words ends) {
  const std::size_t callers = callers_, varargs = varargs_, kwargs = kwargs_;
  const int loops = loop_depth_;
  loop_depth_ = 0;
  Body body = statements(ends, true);
  loop_depth_ = loops;
  const auto parameter = [&](std::string_view name) {
    return std::find(def.parameter_names.begin(), def.parameter_names.end(), name) != def.parameter_names.end();
  };
  def.uses_caller = callers_ != callers && !parameter("caller");
  def.uses_varargs = varargs_ != varargs && !parameter("varargs");
  def.uses_kwargs = kwargs_ != kwargs && !parameter("kwargs");
  return body;
}

std::unique_ptr<Stmt> Parser::macro_tag(std::uint32_t at) {
  auto node = std::make_unique<MacroStmt>(at);
  node->def.name = current().text;
  node->id = target_name();
  signature(node->def);
  node->def.body = macro_body(node->def, {"endmacro"});
  return node;
}

std::unique_ptr<Stmt> Parser::call_tag(std::uint32_t at) {
  auto node = std::make_unique<CallStmt>(at);
  node->caller.name = "caller";
  node->caller.anonymous = true;
  if (is_op("(")) signature(node->caller);
  node->call = expression();
  const bool postfix = node->call->op == Expr::Op::postfix;
  if (!postfix || static_cast<const Postfix&>(*node->call).steps.back().kind != Step::Kind::call) fail("expected call", at);
  node->caller.body = macro_body(node->caller, {"endcall"});
  return node;
}

std::unique_ptr<Postfix> Parser::filters_of_block(bool first_without_pipe) {
  auto node = std::make_unique<Postfix>(line());
  if (first_without_pipe) node->steps.push_back(filter_call());
  while (skip_op("|")) node->steps.push_back(filter_call());
  if (node->steps.empty()) return nullptr;
  return node;
}

std::unique_ptr<Stmt> Parser::filter_tag(std::uint32_t at) {
  auto node = std::make_unique<FilterStmt>(at);
  node->filters = filters_of_block(true);
  node->body = statements({"endfilter"}, true);
  return node;
}

std::unique_ptr<Stmt> Parser::set_tag(std::uint32_t at) {
  Target to = target(true, true, {});
  if (skip_op("=")) {
    auto node = std::make_unique<SetStmt>(at);
    node->target = std::move(to);
    node->value = tuple(true, {}, false);
    return node;
  }
  auto node = std::make_unique<SetBlockStmt>(at);
  node->target = std::move(to);
  node->filters = filters_of_block(false);
  node->body = statements({"endset"}, true);
  return node;
}

std::unique_ptr<Stmt> Parser::with_tag(std::uint32_t at) {
  auto node = std::make_unique<WithStmt>(at);
  while (!is(Type::block_end) && !is_op(":")) {
    if (!node->values.empty()) expect_op(",");
    Target to = target(false, true, {});
    expect_op("=");
    node->values.emplace_back(std::move(to), expression());
  }
  node->body = statements({"endwith"}, true);
  return node;
}

std::unique_ptr<Stmt> Parser::block_tag(std::uint32_t at) {
  auto node = std::make_unique<BodyStmt>(Stmt::Op::block, at);
  const std::string name = expect_name();
  node->scoped = skip_word("scoped");
  skip_word("required");
  node->body = statements({"endblock"}, true);
  skip_word(name);
  return node;
}

std::unique_ptr<Stmt> Parser::generation_tag(std::uint32_t at) {
  auto node = std::make_unique<GenerationStmt>(at);
  node->def.anonymous = true;
  node->def.body = macro_body(node->def, {"endgeneration"});
  out_.has_generation = true;
  return node;
}

std::unique_ptr<Stmt> Parser::jump_tag(const std::string& name, std::uint32_t at) {
  if (loop_depth_ == 0) fail("'" + name + "' outside a loop", at);
  return std::make_unique<BodyStmt>(name == "break" ? Stmt::Op::jump_break : Stmt::Op::jump_continue, at);
}

// Tags that need other templates or extensions that chat templates do not have. Known ones fail when they run.
std::unique_ptr<Stmt> Parser::unsupported_tag(const std::string& name, std::uint32_t at) {
  auto node = std::make_unique<UnsupportedStmt>(at);
  if (name == "include" || name == "import" || name == "from" || name == "extends") {
    node->what = "'" + name + "' needs another template, and a chat template stands alone";
    while (!is(Type::block_end) && !is(Type::end)) next();
    return node;
  }
  if (name == "autoescape") {
    node->what = "'autoescape' is not supported: chat templates are plain text";
    expression();
    statements({"endautoescape"}, true);
    return node;
  }
  fail("Encountered unknown tag '" + name + "'." +
           (open_tags_.size() > 1 ? " The innermost block that needs to be closed is '" + open_tags_[open_tags_.size() - 2] + "'." : ""),
       at);
}

std::uint32_t Parser::target_name() {
  if (!is(Type::name)) unexpected("a name");
  if (is_word({"true", "false", "none", "True", "False", "None"})) fail("can't assign to '" + current().text + "'");
  return out_.names.id(next().text);
}

Target Parser::target_item(bool with_namespace) {
  Target t;
  t.line = line();
  if (skip_op("(")) {
    const Nest nest(*this, expr_depth_);
    t = target(with_namespace, true, {});
    expect_op(")");
    return t;
  }
  t.name = target_name();
  if (with_namespace && skip_op(".")) {
    t.kind = Target::Kind::attribute;
    t.attribute = expect_name();
  }
  return t;
}

// One target or several with commas; `end_word` ends the list as a bracket or tag end does.
Target Parser::target(bool with_namespace, bool with_tuple, std::string_view end_word) {
  Target first = target_item(with_namespace);
  if (!with_tuple || !is_op(",")) return first;
  Target t;
  t.kind = Target::Kind::tuple;
  t.line = first.line;
  t.items.push_back(std::move(first));
  while (skip_op(",")) {
    if (is(Type::block_end) || is_op(")") || is_op("=") || (!end_word.empty() && is_word(end_word))) break;
    t.items.push_back(target_item(with_namespace));
  }
  return t;
}

std::uint32_t Names::id(const std::string& name) {
  const auto [it, added] = ids_.try_emplace(name, static_cast<std::uint32_t>(texts_.size()));
  if (added) texts_.push_back(literal_string(name, owned_));
  return it->second;
}

const std::uint32_t* Names::find(const std::string& name) const {
  const auto it = ids_.find(name);
  return it == ids_.end() ? nullptr : &it->second;
}

}  // namespace hz::text::jinja
