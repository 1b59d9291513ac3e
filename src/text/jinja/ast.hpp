// SPDX-License-Identifier: Apache-2.0
// The parsed template. Chains of operators, filters, branches are flat lists, so that nothing recurses per term;
// what does nest is limited to kMaxDepth by the parser.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "src/text/jinja/number.hpp"
#include "src/text/jinja/objects.hpp"

namespace hz::text::jinja {

constexpr int kMaxDepth = 100;  // nesting of expressions and of statements

struct FilterDef;
struct TestDef;
struct Attribute;

struct Expr {
  enum class Op : std::uint8_t {
    constant,
    name,
    list,
    tuple,
    dict,
    concat,
    logic_and,
    logic_or,
    compare,
    chain,
    unary,
    condition,
    postfix,
  };
  Expr(Op op_, std::uint32_t line_) : op(op_), line(line_) {}
  virtual ~Expr() = default;
  Op op;
  std::uint32_t line;
};
using ExprPtr = std::unique_ptr<Expr>;

struct Constant : Expr {
  Constant(Value v, std::uint32_t line_) : Expr(Op::constant, line_), value(std::move(v)) {}
  Value value;
};

struct Name : Expr {
  Name(std::uint32_t id_, std::uint32_t line_) : Expr(Op::name, line_), id(id_) {}
  std::uint32_t id;
};

// list, tuple, concat, logic_and, logic_or.
struct Items : Expr {
  using Expr::Expr;
  std::vector<ExprPtr> items;
};

struct DictExpr : Expr {
  explicit DictExpr(std::uint32_t line_) : Expr(Op::dict, line_) {}
  std::vector<std::pair<ExprPtr, ExprPtr>> entries;
};

// first op operand op operand ... from left to right.
struct Chain : Expr {
  explicit Chain(std::uint32_t line_) : Expr(Op::chain, line_) {}
  ExprPtr first;
  std::vector<std::pair<Arith, ExprPtr>> rest;
};

enum class Comparison : std::uint8_t { eq, ne, lt, le, gt, ge, in, not_in };

struct Compare : Expr {
  explicit Compare(std::uint32_t line_) : Expr(Op::compare, line_) {}
  ExprPtr first;
  std::vector<std::pair<Comparison, ExprPtr>> rest;
};

struct Unary : Expr {
  enum class Sign : std::uint8_t { negate, plus, logic_not };
  Unary(Sign sign_, ExprPtr operand_, std::uint32_t line_) : Expr(Op::unary, line_), sign(sign_), operand(std::move(operand_)) {}
  Sign sign;
  ExprPtr operand;
};

struct Condition : Expr {
  explicit Condition(std::uint32_t line_) : Expr(Op::condition, line_) {}
  ExprPtr test, yes, no;  // no: may be null
};

struct CallArgs {
  std::vector<ExprPtr> positional;
  std::vector<std::pair<std::string, ExprPtr>> named;
  ExprPtr star, star_star;  // *args, **kwargs; may be null
};

// One step of base.attr[item](call)|filter is test.
struct Step {
  enum class Kind : std::uint8_t { attribute, item, slice, call, filter, test, not_test };
  Kind kind;
  std::uint32_t line;
  Value name;                            // attribute; filter and test names
  const Attribute* attribute = nullptr;  // methods of that name
  ExprPtr index;                         // item
  ExprPtr from, to, by;                  // slice; each may be null
  CallArgs args;                         // call, filter, test
  const FilterDef* filter = nullptr;     // null: unknown, an error when it runs
  const TestDef* test = nullptr;
};

struct Postfix : Expr {
  explicit Postfix(std::uint32_t line_) : Expr(Op::postfix, line_) {}
  ExprPtr base;  // null inside {% filter %} and {% set x | f %}: the block's text
  std::vector<Step> steps;
};

// What an assignment writes to.
struct Target {
  enum class Kind : std::uint8_t { name, attribute, tuple };
  Kind kind = Kind::name;
  std::uint32_t line = 0;
  std::uint32_t name = 0;  // name; or the namespace whose `attribute` is set
  std::string attribute;
  std::vector<Target> items;
};

struct Stmt {
  enum class Op : std::uint8_t {
    output,
    loop,
    branch,
    macro,
    call,
    filter,
    set,
    set_block,
    with,
    jump_break,
    jump_continue,
    generation,
    block,
    unsupported,
  };
  Stmt(Op op_, std::uint32_t line_) : op(op_), line(line_) {}
  virtual ~Stmt() = default;
  Op op;
  std::uint32_t line;
};
using Body = std::vector<std::unique_ptr<Stmt>>;

// Names that a block assigns before anything in it or around it reads them: within the block the input's variable of
// that name does not exist, not even before the assignment runs.
using HiddenNames = std::vector<std::uint32_t>;

// Template text and printed expressions.
struct Output : Stmt {
  explicit Output(std::uint32_t line_) : Stmt(Op::output, line_) {}
  std::vector<ExprPtr> items;
};

struct ForStmt : Stmt {
  explicit ForStmt(std::uint32_t line_) : Stmt(Op::loop, line_) {}
  Target target;
  ExprPtr over, test;  // test may be null
  Body body, otherwise;
  HiddenNames hidden_body, hidden_test, hidden_otherwise;
  bool recursive = false;
  bool uses_loop = false;  // the body mentions `loop`
};

struct IfStmt : Stmt {
  explicit IfStmt(std::uint32_t line_) : Stmt(Op::branch, line_) {}
  std::vector<std::pair<ExprPtr, Body>> branches;
  Body otherwise;
};

struct MacroDef {
  std::string name;
  std::vector<std::uint32_t> parameters;
  std::vector<std::string> parameter_names;
  std::vector<ExprPtr> defaults;  // of the last parameters
  Body body;
  HiddenNames hidden;
  bool anonymous = false;  // the body of a call block
  bool uses_caller = false, uses_varargs = false, uses_kwargs = false;
};

struct MacroStmt : Stmt {
  explicit MacroStmt(std::uint32_t line_) : Stmt(Op::macro, line_) {}
  std::uint32_t id = 0;
  MacroDef def;
};

struct CallStmt : Stmt {
  explicit CallStmt(std::uint32_t line_) : Stmt(Op::call, line_) {}
  ExprPtr call;  // a Postfix whose last step is a call
  MacroDef caller;
};

// {% generation %}: a call block whose macro is called at once, without arguments.
struct GenerationStmt : Stmt {
  explicit GenerationStmt(std::uint32_t line_) : Stmt(Op::generation, line_) {}
  MacroDef def;
};

struct FilterStmt : Stmt {
  explicit FilterStmt(std::uint32_t line_) : Stmt(Op::filter, line_) {}
  std::unique_ptr<Postfix> filters;
  Body body;
  HiddenNames hidden;
};

struct SetStmt : Stmt {
  explicit SetStmt(std::uint32_t line_) : Stmt(Op::set, line_) {}
  Target target;
  ExprPtr value;
};

struct SetBlockStmt : Stmt {
  explicit SetBlockStmt(std::uint32_t line_) : Stmt(Op::set_block, line_) {}
  Target target;
  std::unique_ptr<Postfix> filters;  // may be null
  Body body;
  HiddenNames hidden;
};

struct WithStmt : Stmt {
  explicit WithStmt(std::uint32_t line_) : Stmt(Op::with, line_) {}
  std::vector<std::pair<Target, ExprPtr>> values;
  Body body;
  HiddenNames hidden;
};

// block, and the jumps (no body).
struct BodyStmt : Stmt {
  using Stmt::Stmt;
  bool scoped = false;
  Body body;
  HiddenNames hidden;
};

// A tag that is known and not built: an error when it runs.
struct UnsupportedStmt : Stmt {
  explicit UnsupportedStmt(std::uint32_t line_) : Stmt(Op::unsupported, line_) {}
  std::string what;
};

// Names as small numbers.
class Names {
 public:
  std::uint32_t id(const std::string& name);
  // The id if the template mentions the name.
  const std::uint32_t* find(const std::string& name) const;
  const Value& text(std::uint32_t id) const { return texts_[id]; }  // as a string value
  std::size_t size() const { return texts_.size(); }

 private:
  std::unordered_map<std::string, std::uint32_t> ids_;
  std::vector<std::unique_ptr<Object>> owned_;  // outlives texts_
  std::vector<Value> texts_;
};

struct Template {
  std::string name;
  std::vector<std::unique_ptr<Object>> owned;  // the strings and integers of constants; outlives the tree
  std::vector<std::unique_ptr<Attribute>> attributes;
  Names names;
  Body body;
  HiddenNames hidden;
  std::vector<bool> hideable;  // by name: hidden in some block
  bool has_generation = false;
};

// Fills the lists of hidden names.
void find_hidden_names(Template& tmpl);

}  // namespace hz::text::jinja
