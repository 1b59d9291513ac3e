// SPDX-License-Identifier: Apache-2.0
// Interp: calls of macros, methods, functions, loop().
#include <algorithm>

#include "src/text/jinja/bind.hpp"
#include "src/text/jinja/compare.hpp"
#include "src/text/jinja/interp.hpp"
#include "src/text/jinja/iterate.hpp"
#include "src/text/jinja/print.hpp"

namespace hz::text::jinja {

namespace {
constexpr int kMaxCalls = 100;  // macros inside macros

Value take_named(Args& args, std::string_view name) {
  for (auto it = args.named.begin(); it != args.named.end(); ++it) {
    if (it->first != name) continue;
    Value v = std::move(it->second);
    args.named.erase(it);
    return v;
  }
  return {};
}
}  // namespace

Value Interp::call(const Value& callee, Args& args) {
  heap_.charge();
  switch (callee.kind()) {
    case Kind::macro: return call_macro(callee.as<Macro>(), args);
    case Kind::function: return callee.as<Function>().def.run(*this, args);
    case Kind::method: return callee.as<BoundMethod>().def.run(*this, callee.as<BoundMethod>().self, args);
    case Kind::loop: return call_loop(callee.as<Loop>(), args);
    case Kind::joiner: {
      bind_none("joiner", args);
      auto& joiner = callee.as<Joiner>();
      if (std::exchange(joiner.used, true)) return joiner.separator;
      return text("");
    }
    case Kind::undefined: throw_undefined(callee);
    default: throw Fault{"'" + std::string(type_name(callee.kind())) + "' object is not callable"};
  }
}

bool Interp::call_method(const Step& name, const Step& step, Value& value) {
  const MethodDef* def = nullptr;
  switch (value.kind()) {
    case Kind::str: def = name.attribute->str; break;
    case Kind::list: def = name.attribute->list; break;
    case Kind::tuple: def = name.attribute->tuple; break;
    case Kind::dict: def = name.attribute->dict; break;
    default: return false;
  }
  if (def == nullptr || def->run == nullptr) return false;
  const Value self = value;
  Args args = eval_args(step.args);
  line_ = step.line;
  heap_.charge();
  value = def->run(*this, self, args);
  return true;
}

Value Interp::call_macro(const Macro& macro, Args& args) {
  if (calls_ >= kMaxCalls) throw Fault{"macros call each other deeper than " + std::to_string(kMaxCalls)};
  const Restore<int> nested(calls_, calls_ + 1);
  Builder out(heap_);
  const Entered entered(scope_, new_scope(macro.scope, macro.def.hidden));
  const Restore<Builder*> writing(out_, &out);
  bind_macro(macro, args, scope());
  exec(macro.def.body);
  return out.take();
}

void Interp::bind_macro(const Macro& macro, Args& args, Scope& scope) {
  const MacroDef& def = macro.def;
  const std::size_t count = def.parameters.size();
  const std::size_t given = std::min(args.positional.size(), count);
  Values values(args.positional.begin(), args.positional.begin() + static_cast<std::ptrdiff_t>(given));
  for (std::size_t i = given; i < count; ++i) values.push_back(take_named(args, def.parameter_names[i]));
  const auto named = [&](const char* name, Value v) { scope.set(heap_, *template_.names.find(name), std::move(v)); };
  if (def.uses_caller) {
    Value caller = take_named(args, "caller");
    if (caller.is_missing() || caller.is_none()) caller = hint("No caller defined");
    named("caller", std::move(caller));
  }
  if (def.uses_kwargs) {
    Value rest = make_dict(heap_, here());
    for (auto& [name, value] : args.named) rest.as<Dict>().set(heap_, text(name), std::move(value));
    named("kwargs", std::move(rest));
  } else if (!args.named.empty()) {
    throw Fault{"macro '" + def.name + "' takes no keyword argument '" + args.named.front().first + "'"};
  }
  if (def.uses_varargs) {
    named("varargs",
          make_tuple(heap_, Values(args.positional.begin() + static_cast<std::ptrdiff_t>(given), args.positional.end()), here()));
  } else if (args.positional.size() > count) {
    throw Fault{"macro '" + def.name + "' takes not more than " + std::to_string(count) + " argument(s)"};
  }
  const std::size_t without_default = count - def.defaults.size();
  for (std::size_t i = 0; i < count; ++i) {
    if (values[i].is_missing()) {
      values[i] = i < without_default ? hint("parameter '" + def.parameter_names[i] + "' was not provided")
                                      : eval(*def.defaults[i - without_default]);
    }
    scope.set(heap_, def.parameters[i], std::move(values[i]));
  }
}

Value Interp::call_loop(Loop& loop, Args& args) {
  if (loop.recursive == nullptr) throw Fault{"The loop must have the 'recursive' marker to be called recursively."};
  const auto [over] = bind<1>("loop", args, {"iterable"}, 1);
  if (calls_ >= kMaxCalls) throw Fault{"recursive loops nest deeper than " + std::to_string(kMaxCalls)};
  const Restore<int> nested(calls_, calls_ + 1);
  Builder out(heap_);
  const Entered entered(scope_, loop.scope);
  const Restore<Builder*> writing(out_, &out);
  run_loop(*loop.recursive, over, loop.depth0 + 1);
  return out.take();
}

void bind_into(std::string_view function, Args& args, const std::string_view* names, Value* values, std::size_t count,
               std::size_t required) {
  const std::string who(function);
  if (args.positional.size() > count) {
    throw Fault{who + "() takes at most " + std::to_string(count) + " argument(s), got " + std::to_string(args.positional.size())};
  }
  for (std::size_t i = 0; i < args.positional.size(); ++i) values[i] = std::move(args.positional[i]);
  for (auto& [name, value] : args.named) {
    const auto* at = std::find(names, names + count, name);
    if (at == names + count) throw Fault{who + "() got an unexpected keyword argument '" + name + "'"};
    Value& slot = values[at - names];
    if (!slot.is_missing()) throw Fault{who + "() got multiple values for argument '" + name + "'"};
    slot = std::move(value);
  }
  for (std::size_t i = 0; i < required; ++i) {
    if (values[i].is_missing()) throw Fault{who + "() missing required argument '" + std::string(names[i]) + "'"};
  }
}

void bind_none(std::string_view function, const Args& args) {
  if (!args.positional.empty() || !args.named.empty()) throw Fault{std::string(function) + "() takes no arguments"};
}

std::int64_t want_int(std::string_view function, const Value& v) {
  if (v.is_undefined()) throw_undefined(v);
  if (!v.is_int()) {
    throw Fault{std::string(function) + ": '" + std::string(type_name(v.kind())) + "' object cannot be interpreted as an integer"};
  }
  return clamp_int(v);
}

std::int64_t int_or(std::string_view function, const Value& v, std::int64_t fallback) {
  return v.is_missing() || v.is_none() ? fallback : want_int(function, v);
}

bool truth_or(const Value& v, bool fallback) { return v.is_missing() ? fallback : truthy(v); }

const Value& want_str(std::string_view function, const Value& v) {
  if (v.is_undefined()) throw_undefined(v);
  if (!v.is_str()) throw Fault{std::string(function) + " needs a string, got '" + std::string(type_name(v.kind())) + "'"};
  return v;
}

Value soft_str(Interp& in, const Value& v) { return to_str(in.heap(), v); }

std::size_t want_count(Interp& in, std::string_view function, std::int64_t n) {
  if (n <= 0) return 0;
  (void)function;
  in.heap().check(static_cast<std::uint64_t>(n), 1);
  return static_cast<std::size_t>(n);
}

}  // namespace hz::text::jinja
