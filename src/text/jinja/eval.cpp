// SPDX-License-Identifier: Apache-2.0
// Interp: expressions.
#include "src/text/jinja/compare.hpp"
#include "src/text/jinja/interp.hpp"
#include "src/text/jinja/iterate.hpp"
#include "src/text/jinja/print.hpp"

namespace hz::text::jinja {

namespace {
constexpr int kMaxEvalDepth = 1000;  // nested expressions and statements, macro calls included
}

Interp::Nest::Nest(Interp& interp) : interp_(interp) {
  if (interp.depth_ >= kMaxEvalDepth) throw Fault{"the template nests deeper than " + std::to_string(kMaxEvalDepth)};
  ++interp.depth_;
}

Value Interp::eval(const Expr& e) {
  heap_.charge();
  const Nest nest(*this);
  switch (e.op) {
    case Expr::Op::constant: {
      Value v = static_cast<const Constant&>(e).value;
      v.set_origin(here());
      return v;
    }
    case Expr::Op::name: return eval_name(static_cast<const Name&>(e));
    case Expr::Op::list: return make_list(heap_, eval_all(static_cast<const Items&>(e).items), here());
    case Expr::Op::tuple: return make_tuple(heap_, eval_all(static_cast<const Items&>(e).items), here());
    case Expr::Op::dict: return eval_dict(static_cast<const DictExpr&>(e));
    case Expr::Op::concat: return eval_concat(static_cast<const Items&>(e));
    case Expr::Op::logic_and:
    case Expr::Op::logic_or: return eval_logic(static_cast<const Items&>(e));
    case Expr::Op::compare: return eval_compare(static_cast<const Compare&>(e));
    case Expr::Op::unary: return eval_unary(static_cast<const Unary&>(e));
    case Expr::Op::condition: return eval_condition(static_cast<const Condition&>(e));
    case Expr::Op::chain: {
      const auto& c = static_cast<const Chain&>(e);
      Value v = eval(*c.first);
      for (const auto& [op, operand] : c.rest) {
        const Value right = eval(*operand);
        line_ = operand->line;
        v = binary(op, v, right);
      }
      return v;
    }
    case Expr::Op::postfix: {
      const auto& p = static_cast<const Postfix&>(e);
      return eval_postfix(p, eval(*p.base));
    }
  }
  return {};
}

Values Interp::eval_all(const std::vector<ExprPtr>& list) {
  Values r;
  r.reserve(list.size());
  for (const auto& e : list) r.push_back(eval(*e));
  return r;
}

const Value* Interp::lookup(std::uint32_t name) {
  int hops = 0;
  for (const Value* s = &scope_; !s->is_missing(); s = &s->as<Scope>().parent()) {
    if (const Value* v = s->as<Scope>().find(heap_, name)) return v->is_missing() ? nullptr : v;
    if (++hops % 8 == 0) heap_.charge();
  }
  return globals_[name].is_missing() ? nullptr : &globals_[name];
}

Value Interp::eval_name(const Name& e) {
  if (const Value* v = lookup(e.id)) return *v;
  line_ = e.line;
  return Value::undefined(Value::Why::variable, Kind::missing, template_.names.text(e.id));
}

Value Interp::eval_dict(const DictExpr& e) {
  Value v = make_dict(heap_, here());
  for (const auto& [key, value] : e.entries) {
    Value k = eval(*key);
    Value x = eval(*value);
    line_ = e.line;
    v.as<Dict>().set(heap_, std::move(k), std::move(x));
  }
  return v;
}

Value Interp::eval_concat(const Items& e) {
  const Values parts = eval_all(e.items);
  line_ = e.line;
  Builder out(heap_);
  for (const Value& part : parts) print_str(heap_, out, part);
  return out.take();
}

Value Interp::eval_logic(const Items& e) {
  const bool stop = e.op == Expr::Op::logic_or;
  Value v;
  for (const auto& item : e.items) {
    v = eval(*item);
    if (truthy(v) == stop) break;
  }
  return v;
}

bool Interp::compare_values(Comparison op, const Value& a, const Value& b) {
  switch (op) {
    case Comparison::eq: return equal(heap_, a, b);
    case Comparison::ne: return !equal(heap_, a, b);
    case Comparison::lt: return order(heap_, a, b, "<") < 0;
    case Comparison::le: return order(heap_, a, b, "<=") <= 0;
    case Comparison::gt: return order(heap_, a, b, ">") > 0;
    case Comparison::ge: return order(heap_, a, b, ">=") >= 0;
    case Comparison::in: return contains(heap_, b, a);
    case Comparison::not_in: return !contains(heap_, b, a);
  }
  return false;
}

Value Interp::eval_compare(const Compare& e) {
  Value left = eval(*e.first);
  for (const auto& [op, operand] : e.rest) {
    Value right = eval(*operand);
    line_ = operand->line;
    if (!compare_values(op, left, right)) return Value::boolean(false, here());
    left = std::move(right);
  }
  return Value::boolean(true, here());
}

Value Interp::eval_unary(const Unary& e) {
  const Value v = eval(*e.operand);
  line_ = e.line;
  if (e.sign == Unary::Sign::logic_not) return Value::boolean(!truthy(v), here());
  if (v.is_undefined()) throw_undefined(v);
  const bool minus = e.sign == Unary::Sign::negate;
  if (!v.is_number()) {
    throw Fault{std::string("bad operand type for unary ") + (minus ? "-" : "+") + ": '" + std::string(type_name(v.kind())) + "'"};
  }
  if (minus) return negate(heap_, v);
  return v.is(Kind::boolean) ? Value::integer(v.integer()) : v;
}

Value Interp::eval_condition(const Condition& e) {
  if (truthy(eval(*e.test))) return eval(*e.yes);
  if (e.no) return eval(*e.no);
  line_ = e.line;
  return hint("the inline if-expression evaluated to false and no else section was defined.");
}

Args Interp::eval_args(const CallArgs& in) {
  Args args;
  args.positional = eval_all(in.positional);
  args.named.reserve(in.named.size());
  for (const auto& [name, value] : in.named) args.named.emplace_back(name, eval(*value));
  if (in.star) {
    const Value more = eval(*in.star);
    for (Value& v : items_of(heap_, more)) args.positional.push_back(std::move(v));
  }
  if (in.star_star) {
    const Value more = eval(*in.star_star);
    if (!more.is(Kind::dict)) throw Fault{"argument after ** must be a mapping, not " + std::string(type_name(more.kind()))};
    for (const auto& entry : more.as<Dict>().entries) {
      if (!entry.key.is_str()) throw Fault{"keywords must be strings"};
      for (const auto& [name, value] : args.named) {
        if (name == text_of(entry.key)) throw Fault{"got multiple values for keyword argument '" + name + "'"};
      }
      args.named.emplace_back(std::string(text_of(entry.key)), entry.value);
    }
  }
  return args;
}

Value Interp::eval_postfix(const Postfix& e, Value value) {
  for (std::size_t i = 0; i < e.steps.size(); ++i) {
    const Step& step = e.steps[i];
    heap_.charge();
    const bool method = step.kind == Step::Kind::attribute && i + 1 < e.steps.size() && e.steps[i + 1].kind == Step::Kind::call;
    if (method && call_method(step, e.steps[i + 1], value)) {
      ++i;
      continue;
    }
    value = eval_step(step, value);
  }
  return value;
}

Value Interp::eval_step(const Step& step, const Value& value) {
  switch (step.kind) {
    case Step::Kind::attribute: line_ = step.line; return attribute(value, *step.attribute, step.name);
    case Step::Kind::item: {
      const Value key = eval(*step.index);
      line_ = step.line;
      return item(value, key);
    }
    case Step::Kind::slice: {
      const Value from = step.from ? eval(*step.from) : Value();
      const Value to = step.to ? eval(*step.to) : Value();
      const Value by = step.by ? eval(*step.by) : Value();
      line_ = step.line;
      return slice(value, from, to, by);
    }
    case Step::Kind::call: {
      Args args = eval_args(step.args);
      line_ = step.line;
      return call(value, args);
    }
    case Step::Kind::filter: {
      Args args = eval_args(step.args);
      line_ = step.line;
      if (step.filter == nullptr) throw Fault{"No filter named '" + std::string(text_of(step.name)) + "' found."};
      return step.filter->run(*this, value, args);
    }
    case Step::Kind::test:
    case Step::Kind::not_test: return eval_test(step, value);
  }
  return {};
}

Value Interp::eval_test(const Step& step, const Value& value) {
  Args args = eval_args(step.args);
  line_ = step.line;
  if (step.test == nullptr) throw Fault{"No test named '" + std::string(text_of(step.name)) + "' found."};
  const bool wanted = step.kind == Step::Kind::test;
  return Value::boolean(step.test->run(*this, value, args) == wanted, here());
}

Value Interp::filter(const Value& name, const Value& value, Args& args) {
  const FilterDef* def = name.is_str() ? find_filter(text_of(name)) : nullptr;
  if (def == nullptr) throw Fault{"No filter named " + repr_text(heap_, name) + "."};
  const Nest nest(*this);
  heap_.charge();
  return def->run(*this, value, args);
}

bool Interp::test(const Value& name, const Value& value, Args& args) {
  const TestDef* def = name.is_str() ? find_test(text_of(name)) : nullptr;
  if (def == nullptr) throw Fault{"No test named " + repr_text(heap_, name) + "."};
  heap_.charge();
  return def->run(*this, value, args);
}

}  // namespace hz::text::jinja
