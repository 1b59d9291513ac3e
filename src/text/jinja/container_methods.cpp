// SPDX-License-Identifier: Apache-2.0
// Methods of lists, tuples, dicts. Those that would modify their object are refused.
#include <algorithm>

#include "src/text/jinja/bind.hpp"
#include "src/text/jinja/compare.hpp"
#include "src/text/jinja/iterate.hpp"
#include "src/text/jinja/methods.hpp"
#include "src/text/jinja/print.hpp"

namespace hz::text::jinja {

namespace {

Value list_copy(Interp&, const Value& self, Args& args) {
  bind_none("copy", args);
  return self;  // immutable
}

Value list_count(Interp& in, const Value& self, Args& args) {
  const auto [wanted] = bind<1>("count", args, {""}, 1);
  std::int64_t n = 0;
  for (const Value& v : self.as<List>().items) {
    in.heap().charge();
    n += equal(in.heap(), v, wanted) ? 1 : 0;
  }
  return Value::integer(n, in.here());
}

Value list_index(Interp& in, const Value& self, Args& args) {
  const auto [wanted, start, stop] = bind<3>("index", args, {"", "", ""}, 1);
  const Values& items = self.as<List>().items;
  const auto length = static_cast<std::int64_t>(items.size());
  const auto bound = [&](const Value& v, std::int64_t fallback) {
    const std::int64_t i = int_or("index", v, fallback);
    return std::clamp<std::int64_t>(i < 0 ? i + length : i, 0, length);
  };
  const std::int64_t end = bound(stop, length);
  for (std::int64_t i = bound(start, 0); i < end; ++i) {
    in.heap().charge();
    if (equal(in.heap(), items[static_cast<std::size_t>(i)], wanted)) return Value::integer(i, in.here());
  }
  throw Fault{repr_text(in.heap(), wanted) + " is not in list"};
}

template <View::What what>
Value dict_view(Interp& in, const Value& self, Args& args) {
  bind_none("dict view", args);
  return Value::object(Kind::view, in.heap().make<View>(0, self, what), self.origin());
}

Value dict_get(Interp& in, const Value& self, Args& args) {
  auto [key, fallback] = bind<2>("get", args, {"", ""}, 1);
  if (const Value* v = self.as<Dict>().find(in.heap(), key)) return *v;
  return fallback.is_missing() ? Value::none(in.here()) : fallback;
}

Value dict_fromkeys(Interp& in, const Value&, Args& args) {
  auto [keys, value] = bind<2>("fromkeys", args, {"", ""}, 1);
  if (value.is_missing()) value = Value::none(in.here());
  Value r = make_dict(in.heap(), in.here());
  Sequence sequence(in.heap(), keys);
  for (Value k; sequence.next(k);) {
    in.heap().charge();
    r.as<Dict>().set(in.heap(), k, value);
  }
  return r;
}

constexpr MethodDef kListMethods[] = {
    {"append", nullptr}, {"clear", nullptr}, {"copy", list_copy}, {"count", list_count}, {"extend", nullptr}, {"index", list_index},
    {"insert", nullptr}, {"pop", nullptr},   {"remove", nullptr}, {"reverse", nullptr},  {"sort", nullptr},
};
constexpr MethodDef kTupleMethods[] = {{"count", list_count}, {"index", list_index}};
constexpr MethodDef kDictMethods[] = {
    {"clear", nullptr},
    {"copy", list_copy},
    {"fromkeys", dict_fromkeys},
    {"get", dict_get},
    {"items", dict_view<View::What::items>},
    {"keys", dict_view<View::What::keys>},
    {"pop", nullptr},
    {"popitem", nullptr},
    {"setdefault", nullptr},
    {"update", nullptr},
    {"values", dict_view<View::What::values>},
};

const MethodDef* lookup(const MethodDef* table, std::size_t count, std::string_view name) {
  const MethodDef* at = std::lower_bound(table, table + count, name, [](const MethodDef& m, std::string_view n) { return m.name < n; });
  return at != table + count && at->name == name ? at : nullptr;
}

}  // namespace

const MethodDef* find_method(Kind kind, std::string_view name) {
  switch (kind) {
    case Kind::str: return lookup(kStrMethods, kStrMethodCount, name);
    case Kind::list: return lookup(kListMethods, std::size(kListMethods), name);
    case Kind::tuple: return lookup(kTupleMethods, std::size(kTupleMethods), name);
    case Kind::dict: return lookup(kDictMethods, std::size(kDictMethods), name);
    default: return nullptr;
  }
}

}  // namespace hz::text::jinja
