// SPDX-License-Identifier: Apache-2.0
#include "src/text/jinja/loop_attributes.hpp"

#include "src/text/jinja/bind.hpp"
#include "src/text/jinja/compare.hpp"

namespace hz::text::jinja {

namespace {

Value loop_cycle(Interp&, const Value& self, Args& args) {
  if (!args.named.empty()) throw Fault{"loop.cycle() takes no keyword arguments"};
  if (args.positional.empty()) throw Fault{"no items for cycling given"};
  return args.positional[self.as<Loop>().index0 % args.positional.size()];
}

Value loop_changed(Interp& in, const Value& self, Args& args) {
  if (!args.named.empty()) throw Fault{"loop.changed() takes no keyword arguments"};
  auto& loop = self.as<Loop>();
  Value now = make_tuple(in.heap(), std::move(args.positional), in.here());
  const bool changed = loop.changed.is_missing() || !equal(in.heap(), loop.changed, now);
  if (changed) loop.changed = std::move(now);
  return Value::boolean(changed, in.here());
}

Value cycler_next(Interp&, const Value& self, Args& args) {
  bind_none("next", args);
  auto& c = self.as<Cycler>();
  const std::size_t at = c.position;
  c.position = (at + 1) % c.items.size();
  return c.items[at];
}

Value cycler_reset(Interp& in, const Value& self, Args& args) {
  bind_none("reset", args);
  self.as<Cycler>().position = 0;
  return Value::none(in.here());
}

constexpr MethodDef kLoopCycle{"cycle", loop_cycle};
constexpr MethodDef kLoopChanged{"changed", loop_changed};
constexpr MethodDef kCyclerNext{"next", cycler_next};
constexpr MethodDef kCyclerReset{"reset", cycler_reset};

Value bound(Interp& in, const Value& self, const MethodDef& def) {
  return Value::object(Kind::method, in.heap().make<BoundMethod>(0, self, def), in.here());
}

Value loop_attribute(Interp& in, const Value& base, std::string_view name) {
  const auto& loop = base.as<Loop>();
  const Values& items = loop.values();
  const auto number = [&](std::size_t n) { return Value::integer(static_cast<std::int64_t>(n), in.here()); };
  const std::size_t i = loop.index0;
  if (name == "index") return number(i + 1);
  if (name == "index0") return number(i);
  if (name == "first") return Value::boolean(i == 0, in.here());
  if (name == "last") return Value::boolean(i + 1 == items.size(), in.here());
  if (name == "length") return number(items.size());
  if (name == "revindex") return number(items.size() - i);
  if (name == "revindex0") return number(items.size() - i - 1);
  if (name == "depth") return number(static_cast<std::size_t>(loop.depth0) + 1);
  if (name == "depth0") return number(static_cast<std::size_t>(loop.depth0));
  if (name == "previtem") return i == 0 ? in.hint("there is no previous item") : items[i - 1];
  if (name == "nextitem") return i + 1 == items.size() ? in.hint("there is no next item") : items[i + 1];
  if (name == "cycle") return bound(in, base, kLoopCycle);
  if (name == "changed") return bound(in, base, kLoopChanged);
  return {};
}

}  // namespace

Value object_attribute(Interp& in, const Value& base, std::string_view name) {
  switch (base.kind()) {
    case Kind::loop: return loop_attribute(in, base, name);
    case Kind::space:
      if (const Value* v = base.as<Namespace>().find(name)) return *v;
      return {};
    case Kind::cycler:
      if (name == "next") return bound(in, base, kCyclerNext);
      if (name == "reset") return bound(in, base, kCyclerReset);
      if (name == "current") return base.as<Cycler>().items[base.as<Cycler>().position];
      return {};
    case Kind::tuple:
      if (!base.as<List>().group) return {};
      if (name == "grouper") return base.as<List>().items[0];
      if (name == "list") return base.as<List>().items[1];
      return {};
    case Kind::range: {
      const auto& r = base.as<Range>();
      if (name == "start") return Value::integer(r.start, in.here());
      if (name == "stop") return Value::integer(r.stop, in.here());
      if (name == "step") return Value::integer(r.step, in.here());
      return {};
    }
    case Kind::macro: {
      const MacroDef& def = base.as<Macro>().def;
      if (name == "name") return in.text(def.name);
      if (name == "caller") return Value::boolean(def.uses_caller, in.here());
      if (name == "catch_kwargs") return Value::boolean(def.uses_kwargs, in.here());
      if (name == "catch_varargs") return Value::boolean(def.uses_varargs, in.here());
      if (name != "arguments") return {};
      Values names;
      for (const auto& p : def.parameter_names) names.push_back(in.text(p));
      return make_tuple(in.heap(), std::move(names), in.here());
    }
    case Kind::boolean:
    case Kind::integer:
    case Kind::big:
    case Kind::real:
      if (name == "real" || (name == "numerator" && base.is_int())) return base.is(Kind::boolean) ? Value::integer(base.integer()) : base;
      if (name == "imag") return base.is(Kind::real) ? Value::real(0, in.here()) : Value::integer(0, in.here());
      if (name == "denominator" && base.is_int()) return Value::integer(1, in.here());
      return {};
    default: return {};
  }
}

}  // namespace hz::text::jinja
