// SPDX-License-Identifier: Apache-2.0
// Interp: statements.
#include "src/text/jinja/compare.hpp"
#include "src/text/jinja/interp.hpp"
#include "src/text/jinja/iterate.hpp"
#include "src/text/jinja/print.hpp"

namespace hz::text::jinja {

Interp::Interp(const Template& tmpl, Heap& heap, const std::tm& now, std::size_t max_output)
    : template_(tmpl), heap_(heap), now_(now), max_output_(max_output), globals_(tmpl.names.size()) {}

void Interp::set_global(const std::string& name, Value value) {
  const std::uint32_t* id = template_.names.find(name);
  if (id == nullptr) return;
  globals_[*id] = std::move(value);
  if (template_.hideable[*id]) hides_ = true;
}

Value Interp::run() {
  Builder out(heap_, max_output_);
  out_ = &out;
  for (const std::uint32_t name : template_.hidden) globals_[name] = Value();
  exec(template_.body);
  out_ = nullptr;
  return out.take();
}

void Interp::set_variable(std::uint32_t name, Value value) {
  if (scope_.is_missing()) globals_[name] = std::move(value);
  else scope().set(heap_, name, std::move(value));
}

Interp::Flow Interp::exec(const Body& body) {
  const Nest nest(*this);
  for (const auto& stmt : body) {
    const Flow flow = exec(*stmt);
    if (flow != Flow::on) return flow;
  }
  return Flow::on;
}

Interp::Flow Interp::exec(const Stmt& stmt) {
  heap_.charge();
  line_ = stmt.line;
  switch (stmt.op) {
    case Stmt::Op::output: exec_output(static_cast<const Output&>(stmt)); return Flow::on;
    case Stmt::Op::loop: exec_for(static_cast<const ForStmt&>(stmt)); return Flow::on;
    case Stmt::Op::branch: return exec_if(static_cast<const IfStmt&>(stmt));
    case Stmt::Op::macro: exec_macro(static_cast<const MacroStmt&>(stmt)); return Flow::on;
    case Stmt::Op::call: exec_call(static_cast<const CallStmt&>(stmt)); return Flow::on;
    case Stmt::Op::filter: exec_filter(static_cast<const FilterStmt&>(stmt)); return Flow::on;
    case Stmt::Op::set: exec_set(static_cast<const SetStmt&>(stmt)); return Flow::on;
    case Stmt::Op::set_block: return exec_set_block(static_cast<const SetBlockStmt&>(stmt));
    case Stmt::Op::with: return exec_with(static_cast<const WithStmt&>(stmt));
    case Stmt::Op::jump_break: return Flow::broke;
    case Stmt::Op::jump_continue: return Flow::continued;
    case Stmt::Op::generation: exec_generation(static_cast<const GenerationStmt&>(stmt)); return Flow::on;
    case Stmt::Op::block: {
      const auto& block = static_cast<const BodyStmt&>(stmt);
      const Entered entered(scope_, new_scope(block.scoped ? scope_ : Value(), block.hidden));
      exec(block.body);
      return Flow::on;
    }
    case Stmt::Op::unsupported: throw Fault{static_cast<const UnsupportedStmt&>(stmt).what, ErrorKind::unsupported};
  }
  return Flow::on;
}

void Interp::print(const Value& value) { print_str(heap_, *out_, value); }

void Interp::exec_output(const Output& stmt) {
  for (const auto& item : stmt.items) {
    if (item->op == Expr::Op::constant) {
      heap_.charge();
      const Value& v = static_cast<const Constant&>(*item).value;
      if (v.is_str()) {
        out_->add(text_of(v), here());
        continue;
      }
    }
    const Value v = eval(*item);
    line_ = item->line;
    print(v);
  }
}

Interp::Flow Interp::exec_if(const IfStmt& stmt) {
  for (const auto& [test, body] : stmt.branches) {
    if (truthy(eval(*test))) return exec(body);
  }
  return exec(stmt.otherwise);
}

void Interp::exec_for(const ForStmt& stmt) {
  const Value over = eval(*stmt.over);
  line_ = stmt.line;
  run_loop(stmt, over, 0);
}

// The items that pass the loop's condition.
Value Interp::filtered(const ForStmt& stmt, const Value& over) {
  Values kept;
  const Entered entered(scope_, new_scope(scope_));
  Sequence items(heap_, over);
  for (Value item; items.next(item);) {
    heap_.charge();
    scope().reset();
    hide(scope(), stmt.hidden_test);
    assign(stmt.target, item);
    if (!truthy(eval(*stmt.test))) continue;
    // The loop sees what was unpacked, not the item itself.
    if (stmt.target.kind == Target::Kind::tuple) item = make_tuple(heap_, items_of(heap_, item), item.origin());
    kept.push_back(std::move(item));
  }
  return make_list(heap_, std::move(kept), over.origin());
}

void Interp::run_loop(const ForStmt& stmt, const Value& over, int depth0) {
  Value items = stmt.test ? filtered(stmt, over) : over;
  if (!items.is(Kind::list) && !items.is(Kind::tuple)) items = make_list(heap_, items_of(heap_, items), over.origin());
  const Value around = scope_;
  const Value loop_value = Value::object(Kind::loop, heap_.make<Loop>(0, items, depth0));
  auto& loop = loop_value.as<Loop>();
  if (stmt.recursive) {
    loop.recursive = &stmt;
    loop.scope = around;
  }
  const std::uint32_t* loop_name = stmt.uses_loop ? template_.names.find("loop") : nullptr;
  const std::size_t count = loop.values().size();
  Value own = new_scope(around);
  bool completed = false;
  for (std::size_t i = 0; i < count; ++i) {
    heap_.charge();
    loop.index0 = i;
    const Value& item = loop.values()[i];
    const std::uint32_t message = item.is(Kind::dict) && item.as<Dict>().message != 0 ? item.as<Dict>().message : message_;
    const Restore<std::uint32_t> in_message(message_, message);
    // A scope that nothing holds on to (no macro was defined in it) serves the next round too.
    if (own.sole_owner()) own.as<Scope>().reset();
    else own = new_scope(around);
    const Entered entered(scope_, own);
    hide(scope(), stmt.hidden_body);
    assign(stmt.target, item);
    if (loop_name != nullptr) scope().set(heap_, *loop_name, loop_value);
    const Flow flow = exec(stmt.body);
    if (flow == Flow::on) completed = true;
    if (flow == Flow::broke) break;
  }
  // As jinja has it: else runs unless some round reached its end, so also when the first one breaks.
  if (completed) return;
  const Entered entered(scope_, new_scope(around, stmt.hidden_otherwise));
  exec(stmt.otherwise);
}

void Interp::exec_macro(const MacroStmt& stmt) {
  set_variable(stmt.id, Value::object(Kind::macro, heap_.make<Macro>(0, stmt.def, scope_), here()));
}

void Interp::exec_call(const CallStmt& stmt) {
  const auto& node = static_cast<const Postfix&>(*stmt.call);
  const Value caller = Value::object(Kind::macro, heap_.make<Macro>(0, stmt.caller, scope_), here());
  Value callee = eval(*node.base);
  for (std::size_t i = 0; i + 1 < node.steps.size(); ++i) callee = eval_step(node.steps[i], callee);
  Args args = eval_args(node.steps.back().args);
  args.named.emplace_back("caller", caller);
  line_ = stmt.line;
  print_text(call(callee, args));
}

Value Interp::capture(const Body& body, const HiddenNames& hidden, Flow* flow) {
  Builder out(heap_);
  const Entered entered(scope_, new_scope(scope_, hidden));
  const Restore<Builder*> writing(out_, &out);
  const Flow f = exec(body);
  if (flow != nullptr) *flow = f;
  return out.take();
}

// What a filter or a called object gives to a block must be text.
void Interp::print_text(const Value& value) {
  if (!value.is_str()) throw Fault{"expected str instance, " + std::string(type_name(value.kind())) + " found"};
  print(value);
}

void Interp::exec_filter(const FilterStmt& stmt) {
  const Value text = capture(stmt.body, stmt.hidden);
  print_text(eval_postfix(*stmt.filters, text));
}

void Interp::exec_set(const SetStmt& stmt) {
  Value value = eval(*stmt.value);
  line_ = stmt.line;
  assign(stmt.target, std::move(value));
}

Interp::Flow Interp::exec_set_block(const SetBlockStmt& stmt) {
  Flow flow = Flow::on;
  Value text = capture(stmt.body, stmt.hidden, &flow);
  if (flow != Flow::on) return flow;
  if (stmt.filters) text = eval_postfix(*stmt.filters, std::move(text));
  assign(stmt.target, std::move(text));
  return Flow::on;
}

Interp::Flow Interp::exec_with(const WithStmt& stmt) {
  Values values;
  for (const auto& [target, value] : stmt.values) values.push_back(eval(*value));
  const Entered entered(scope_, new_scope(scope_, stmt.hidden));
  for (std::size_t i = 0; i < values.size(); ++i) assign(stmt.values[i].first, std::move(values[i]));
  return exec(stmt.body);
}

// What the block writes is marked as generated.
void Interp::exec_generation(const GenerationStmt& stmt) {
  const Value body = Value::object(Kind::macro, heap_.make<Macro>(0, stmt.def, scope_), here());
  Args none;
  const Value text = call(body, none);
  print(with_origin(heap_, text, [](Origin o) { return o.generated(); }));
}

void Interp::assign(const Target& target, Value value) {
  switch (target.kind) {
    case Target::Kind::name: return set_variable(target.name, std::move(value));
    case Target::Kind::attribute: return assign_attribute(target, std::move(value));
    case Target::Kind::tuple: break;
  }
  Values items = items_of(heap_, value);
  if (items.size() != target.items.size()) {
    throw Fault{(items.size() < target.items.size() ? "not enough values to unpack (expected " : "too many values to unpack (expected ") +
                std::to_string(target.items.size()) + ", got " + std::to_string(items.size()) + ")"};
  }
  for (std::size_t i = 0; i < items.size(); ++i) assign(target.items[i], std::move(items[i]));
}

void Interp::assign_attribute(const Target& target, Value value) {
  const Value* space = lookup(target.name);
  if (space == nullptr || !space->is(Kind::space)) throw Fault{"cannot assign attribute on non-namespace object"};
  const Value keep = *space;
  keep.as<Namespace>().set(heap_, target.attribute, std::move(value));
}

}  // namespace hz::text::jinja
