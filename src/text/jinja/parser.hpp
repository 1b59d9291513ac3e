// SPDX-License-Identifier: Apache-2.0
// Parser: tokens to the tree. Recursive descent; nesting is limited, chains are loops.
#pragma once
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/text/jinja/ast.hpp"
#include "src/text/jinja/lexer.hpp"

namespace hz::text::jinja {

class Parser {
 public:
  Parser(Template& out, std::vector<Token> tokens) : out_(out), tokens_(std::move(tokens)) {}
  // Fills the template; throws SyntaxFault.
  void parse();

 private:
  using Type = Token::Type;
  using Words = std::initializer_list<std::string_view>;

  // Counts nesting while it lives.
  class Nest {
   public:
    Nest(const Parser& parser, int& depth);
    ~Nest() { --depth_; }
    Nest(const Nest&) = delete;
    Nest& operator=(const Nest&) = delete;

   private:
    int& depth_;
  };

  // tokens
  const Token& current() const { return tokens_[at_]; }
  const Token& look() const { return tokens_[at_ + 1 < tokens_.size() ? at_ + 1 : at_]; }
  std::uint32_t line() const { return current().line; }
  Token next() { return at_ + 1 < tokens_.size() ? std::move(tokens_[at_++]) : tokens_[at_]; }
  bool is(Type type) const { return current().type == type; }
  bool is_op(std::string_view op) const { return is(Type::op) && current().text == op; }
  bool is_word(std::string_view word) const { return is(Type::name) && current().text == word; }
  bool is_word(Words words) const;
  bool skip_op(std::string_view op);
  bool skip_word(std::string_view word);
  void expect_op(std::string_view op);
  void expect_word(std::string_view word);
  void expect(Type type, std::string_view what);
  std::string expect_name();
  [[noreturn]] void fail(const std::string& what, std::uint32_t line = 0) const;
  // What was unknown since then stands in a branch.
  void forget_unknown(std::size_t since) { unknown_.erase(unknown_.begin() + static_cast<std::ptrdiff_t>(since), unknown_.end()); }
  [[noreturn]] void too_deep() const;
  [[noreturn]] void unexpected(std::string_view wanted) const;

  // statements
  Body statements(Words ends, bool drop_end);
  Body subparse(Words ends);
  void statement(Body& body);
  std::unique_ptr<Stmt> tag(const std::string& name, std::uint32_t line);
  std::unique_ptr<Stmt> for_tag(std::uint32_t line);
  std::unique_ptr<Stmt> if_tag(std::uint32_t line);
  std::unique_ptr<Stmt> macro_tag(std::uint32_t line);
  std::unique_ptr<Stmt> call_tag(std::uint32_t line);
  std::unique_ptr<Stmt> filter_tag(std::uint32_t line);
  std::unique_ptr<Stmt> set_tag(std::uint32_t line);
  std::unique_ptr<Stmt> with_tag(std::uint32_t line);
  std::unique_ptr<Stmt> block_tag(std::uint32_t line);
  std::unique_ptr<Stmt> generation_tag(std::uint32_t line);
  std::unique_ptr<Stmt> jump_tag(const std::string& name, std::uint32_t line);
  std::unique_ptr<Stmt> unsupported_tag(const std::string& name, std::uint32_t line);
  void print_tag(Output& output);
  void signature(MacroDef& def);
  Body macro_body(MacroDef& def, Words ends);
  Target target(bool with_namespace, bool with_tuple, std::string_view end_word);
  Target target_item(bool with_namespace);
  std::uint32_t target_name();

  // expressions
  ExprPtr tuple(bool with_condition, std::string_view end_word, bool parenthesised);
  ExprPtr expression(bool with_condition = true);
  ExprPtr condition();
  ExprPtr logic_or();
  ExprPtr logic_and();
  ExprPtr logic_not();
  ExprPtr compare();
  std::optional<Comparison> take_comparison();
  ExprPtr sum();
  ExprPtr concat();
  ExprPtr product();
  ExprPtr power();
  ExprPtr unary(bool with_filter = true);
  ExprPtr primary();
  ExprPtr name_or_constant();
  ExprPtr string_constant();
  ExprPtr number_constant();
  ExprPtr list();
  ExprPtr dict();
  // Appends the steps after `base`; returns base itself when there are none.
  ExprPtr postfix(ExprPtr base, bool with_filter);
  bool postfix_step(std::vector<Step>& steps);
  bool filter_step(std::vector<Step>& steps);
  Step subscript();
  Step filter_call();  // after the "|"
  Step test_call();
  void test_args(Step& step);
  CallArgs call_args();
  ExprPtr subscribed(Step& step);
  const Attribute* attribute(const std::string& name);
  Value text_constant(std::string text);
  std::string dotted_name();
  std::unique_ptr<Postfix> filters_of_block(bool first_without_pipe);

  Template& out_;
  std::vector<Token> tokens_;
  std::size_t at_ = 0;
  int expr_depth_ = 0, stmt_depth_ = 0;
  int loop_depth_ = 0;                // of the loops that break and continue can reach
  std::vector<SyntaxFault> unknown_;  // filters and tests not known, outside branches (there they fail if they run)
  std::size_t loops_ = 0, callers_ = 0, varargs_ = 0, kwargs_ = 0;  // mentions of these names so far
  std::vector<std::string> open_tags_;
  std::vector<std::vector<std::string>> ends_;
};

}  // namespace hz::text::jinja
