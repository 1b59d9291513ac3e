// SPDX-License-Identifier: Apache-2.0
// Interp: runs one parsed template once.
#pragma once
#include <array>
#include <ctime>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/text/jinja/ast.hpp"
#include "src/text/jinja/builder.hpp"
#include "src/text/jinja/loop.hpp"

namespace hz::text::jinja {

class Interp;

// Arguments of a call.
struct Args {
  Values positional;
  std::vector<std::pair<std::string, Value>> named;
};

// Filters get the value before the "|" and the arguments; tests likewise; methods their object.
struct FilterDef {
  std::string_view name;
  Value (*run)(Interp&, const Value& value, Args& args);
};
struct TestDef {
  std::string_view name;
  bool (*run)(Interp&, const Value& value, Args& args);
};
struct MethodDef {
  std::string_view name;
  Value (*run)(Interp&, const Value& self, Args& args);  // null: would modify its object, which is not allowed
};
struct FunctionDef {
  std::string_view name;
  Value (*run)(Interp&, Args& args);
};

// Null when there is none of that name.
const FilterDef* find_filter(std::string_view name);
const TestDef* find_test(std::string_view name);
const MethodDef* find_method(Kind kind, std::string_view name);

// An attribute's name with the methods it stands for, looked up once when parsing.
struct Attribute {
  std::string name;
  bool internal = false;  // __such__: refused
  const MethodDef* str = nullptr;
  const MethodDef* list = nullptr;
  const MethodDef* tuple = nullptr;
  const MethodDef* dict = nullptr;
};
Attribute resolve_attribute(const std::string& name);

struct BoundMethod : Object {
  BoundMethod(Value self_, const MethodDef& def_) : self(std::move(self_)), def(def_) {}
  Value self;
  const MethodDef& def;
};

// A global function; one static object each.
struct Function : Object {
  explicit Function(const FunctionDef& def_) : def(def_) {}
  const FunctionDef& def;
};

// Gives a variable a value and, when it goes, its old one back.
template <class T>
class Restore {
 public:
  Restore(T& variable, T value) : variable_(variable), before_(std::exchange(variable, std::move(value))) {}
  ~Restore() { variable_ = std::move(before_); }
  Restore(const Restore&) = delete;
  Restore& operator=(const Restore&) = delete;

 private:
  T& variable_;
  T before_;
};

class Interp {
 public:
  enum class Flow : std::uint8_t { on, broke, continued };

  // `now` is what strftime_now shows. Output beyond max_output bytes is an error.
  Interp(const Template& tmpl, Heap& heap, const std::tm& now, std::size_t max_output);
  Interp(const Interp&) = delete;
  Interp& operator=(const Interp&) = delete;

  // Sets a variable of the outermost scope; ignored when the template never mentions it.
  void set_global(const std::string& name, Value value);
  // Runs the template; the result is a string value with its origins.
  Value run();

  Heap& heap() { return heap_; }
  std::uint32_t line() const { return line_; }
  const std::tm& now() const { return now_; }
  // Origin of what the template itself writes now.
  Origin here() const { return Origin::literal(message_); }
  Value text(std::string s) { return make_string(heap_, std::move(s), here()); }
  Value hint(std::string why) { return Value::undefined(Value::Why::hint, Kind::missing, text(std::move(why))); }

  Value call(const Value& callee, Args& args);
  Value attribute(const Value& base, const Attribute& a, const Value& name);
  // base[key], with attributes as the second choice.
  Value item(const Value& base, const Value& key);
  // The attribute alone, without base[name]; the filter `attr`.
  Value own_or_undefined(const Value& base, const Value& name);
  Value slice(const Value& base, const Value& from, const Value& to, const Value& by);
  Value binary(Arith op, const Value& a, const Value& b);
  Value filter(const Value& name, const Value& value, Args& args);
  bool test(const Value& name, const Value& value, Args& args);

  // Counts the nesting of evaluation while it lives.
  class Nest {
   public:
    explicit Nest(Interp& interp);
    ~Nest() { --interp_.depth_; }
    Nest(const Nest&) = delete;
    Nest& operator=(const Nest&) = delete;

   private:
    Interp& interp_;
  };

 private:
  // expressions
  Value eval(const Expr& e);
  Values eval_all(const std::vector<ExprPtr>& list);
  Value eval_name(const Name& e);
  Value eval_dict(const DictExpr& e);
  Value eval_concat(const Items& e);
  Value eval_logic(const Items& e);
  Value eval_compare(const Compare& e);
  Value eval_unary(const Unary& e);
  Value eval_condition(const Condition& e);
  Value eval_postfix(const Postfix& e, Value value);
  Value eval_step(const Step& step, const Value& value);
  Value eval_test(const Step& step, const Value& value);
  // value.name(args) without making a method object; false if the attribute is no method.
  bool call_method(const Step& name, const Step& call, Value& value);
  Args eval_args(const CallArgs& args);
  bool compare_values(Comparison op, const Value& a, const Value& b);

  // statements
  Flow exec(const Body& body);
  Flow exec(const Stmt& stmt);
  void exec_output(const Output& stmt);
  void print(const Value& value);
  void print_text(const Value& value);
  Flow exec_if(const IfStmt& stmt);
  void exec_for(const ForStmt& stmt);
  void run_loop(const ForStmt& stmt, const Value& over, int depth0);
  Value filtered(const ForStmt& stmt, const Value& over);
  void exec_macro(const MacroStmt& stmt);
  void exec_call(const CallStmt& stmt);
  void exec_filter(const FilterStmt& stmt);
  void exec_set(const SetStmt& stmt);
  Flow exec_set_block(const SetBlockStmt& stmt);
  Flow exec_with(const WithStmt& stmt);
  void exec_generation(const GenerationStmt& stmt);
  void assign(const Target& target, Value value);
  void assign_attribute(const Target& target, Value value);
  // Runs the body in a scope of its own and returns what it wrote.
  Value capture(const Body& body, const HiddenNames& hidden, Flow* flow = nullptr);

  // calls
  Value call_macro(const Macro& macro, Args& args);
  void bind_macro(const Macro& macro, Args& args, Scope& scope);
  Value call_loop(Loop& loop, Args& args);

  // operators
  Value own_attribute(const Value& base, const Attribute& a, const Value& name);
  Value take_slice(const Value& base, std::int64_t start, std::int64_t step, std::int64_t count);
  Value repeat(const Value& base, const Value& times);
  Value add(const Value& a, const Value& b);

  // variables
  Scope& scope() { return scope_.as<Scope>(); }
  Value new_scope(const Value& parent) { return Value::object(Kind::scope, heap_.make<Scope>(0, parent)); }
  Value new_scope(const Value& parent, const HiddenNames& hidden) {
    Value scope = new_scope(parent);
    hide(scope.as<Scope>(), hidden);
    return scope;
  }
  void hide(Scope& scope, const HiddenNames& hidden) {
    if (!hides_) return;
    for (const std::uint32_t name : hidden) scope.set(heap_, name, Value());
  }
  const Value* lookup(std::uint32_t name);
  void set_variable(std::uint32_t name, Value value);

  using Entered = Restore<Value>;  // of scope_: a scope that is current while it lives

  const Template& template_;
  Heap& heap_;
  std::tm now_;
  std::size_t max_output_;
  std::vector<Value> globals_;  // the outermost scope, by name
  Value scope_;                 // innermost; missing: the outermost
  Builder* out_ = nullptr;
  std::uint32_t line_ = 1;
  std::uint32_t message_ = 0;  // 1 + index of the message whose loop runs
  int depth_ = 0, calls_ = 0;
  bool hides_ = false;  // some variable of the input has a name that some block hides
};

}  // namespace hz::text::jinja
