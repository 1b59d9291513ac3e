// SPDX-License-Identifier: Apache-2.0
// Interp: attributes, items, slices, arithmetic on any operands.
#include <algorithm>
#include <limits>

#include "src/text/jinja/bind.hpp"
#include "src/text/jinja/compare.hpp"
#include "src/text/jinja/escape.hpp"
#include "src/text/jinja/format.hpp"
#include "src/text/jinja/interp.hpp"
#include "src/text/jinja/iterate.hpp"
#include "src/text/jinja/loop_attributes.hpp"
#include "src/text/jinja/print.hpp"

namespace hz::text::jinja {

namespace {

bool internal_name(std::string_view name) { return name.size() >= 4 && name.starts_with("__") && name.ends_with("__"); }

const MethodDef* method_of(const Attribute& a, Kind kind) {
  switch (kind) {
    case Kind::str: return a.str;
    case Kind::list: return a.list;
    case Kind::tuple: return a.tuple;
    case Kind::dict: return a.dict;
    default: return nullptr;
  }
}

// An index as Python counts it, negative from the end; false when out of range.
bool position(const Value& index, std::int64_t length, std::size_t& at) {
  std::int64_t i = clamp_int(index);
  if (i < 0) i += i < -length ? 0 : length;
  if (i < 0 || i >= length) return false;
  at = static_cast<std::size_t>(i);
  return true;
}

}  // namespace

Attribute resolve_attribute(const std::string& name) {
  Attribute a;
  a.name = name;
  a.internal = internal_name(name);
  a.str = find_method(Kind::str, name);
  a.list = find_method(Kind::list, name);
  a.tuple = find_method(Kind::tuple, name);
  a.dict = find_method(Kind::dict, name);
  return a;
}

// The value of base.name if Python has such an attribute; missing otherwise.
Value Interp::own_attribute(const Value& base, const Attribute& a, const Value& name) {
  if (a.internal) return Value::undefined(Value::Why::unsafe, base.kind(), name);
  if (const MethodDef* def = method_of(a, base.kind())) {
    if (def->run == nullptr) return Value::undefined(Value::Why::unsafe, base.kind(), name);
    return Value::object(Kind::method, heap_.make<BoundMethod>(0, base, *def), here());
  }
  return object_attribute(*this, base, a.name);
}

Value Interp::own_or_undefined(const Value& base, const Value& name) {
  if (base.is_undefined()) throw_undefined(base);
  Value own = own_attribute(base, resolve_attribute(std::string(text_of(name))), name);
  return own.is_missing() ? Value::undefined(Value::Why::attribute, base.kind(), name) : own;
}

Value Interp::attribute(const Value& base, const Attribute& a, const Value& name) {
  if (base.is_undefined() && a.name != "__class__") throw_undefined(base);
  Value own = own_attribute(base, a, name);
  if (!own.is_missing()) return own;
  if (base.is(Kind::dict)) {
    if (const Value* v = base.as<Dict>().find(a.name)) return *v;
  }
  return Value::undefined(Value::Why::attribute, base.kind(), name);
}

Value Interp::item(const Value& base, const Value& key) {
  if (base.is_undefined()) throw_undefined(base);
  switch (base.kind()) {
    case Kind::dict:
      if (key.is(Kind::list) || key.is(Kind::dict)) break;  // unhashable: as absent
      if (const Value* v = base.as<Dict>().find(heap_, key)) return *v;
      break;
    case Kind::str:
    case Kind::list:
    case Kind::tuple:
    case Kind::range: {
      std::size_t at = 0;
      if (key.is_int() && position(key, length_of(base), at)) return item_at(heap_, base, at);
      break;
    }
    default: break;
  }
  if (key.is_str()) {
    Value own = own_attribute(base, resolve_attribute(std::string(text_of(key))), key);
    if (!own.is_missing()) return own;
    return Value::undefined(Value::Why::attribute, base.kind(), key);
  }
  return Value::undefined(Value::Why::element, base.kind(), text(repr_text(heap_, key)));
}

Value Interp::slice(const Value& base, const Value& from, const Value& to, const Value& by) {
  if (base.is_undefined()) throw_undefined(base);
  const std::int64_t length = length_of(base);
  if (!base.is_str() && !base.is(Kind::list) && !base.is(Kind::tuple) && !base.is(Kind::range)) {
    throw Fault{"'" + std::string(type_name(base.kind())) + "' object cannot be sliced"};
  }
  // As Python bounds it: the least of all has no opposite.
  const std::int64_t step = std::max(int_or("slice", by, 1), -std::numeric_limits<std::int64_t>::max());
  if (step == 0) throw Fault{"slice step cannot be zero"};
  const std::int64_t low = step > 0 ? 0 : -1;
  const std::int64_t high = step > 0 ? length : length - 1;
  const auto bound = [&](const Value& v, std::int64_t fallback) {
    if (v.is_missing() || v.is_none()) return fallback;
    std::int64_t i = clamp_int(v);
    if (i < 0) i = i < -length ? low : i + length;
    return std::clamp(i, low, high);
  };
  const std::int64_t start = bound(from, step > 0 ? low : high);
  const std::int64_t stop = bound(to, step > 0 ? high : low);
  const std::int64_t span = step > 0 ? stop - start : start - stop;
  const std::int64_t count = span <= 0 ? 0 : (span - 1) / std::abs(step) + 1;
  return take_slice(base, start, step, count);
}

// `count` items from `start`, `step` apart.
Value Interp::take_slice(const Value& base, std::int64_t start, std::int64_t step, std::int64_t count) {
  if (base.is(Kind::range)) {
    const auto& r = base.as<Range>();
    const std::int64_t first = r.start + r.step * (count == 0 ? 0 : start);
    const std::int64_t by = count <= 1 ? 1 : r.step * step;
    return make_range(heap_, first, by, first + by * count, count);
  }
  const auto at = [&](std::int64_t i) { return static_cast<std::size_t>(start + i * step); };
  if (base.is_str()) {
    const Str& s = base.str();
    if (count == 0) return slice_bytes(heap_, base, 0, 0);
    if (step == 1) return slice_bytes(heap_, base, s.offset(at(0)), s.offset(at(count)));
    Builder out(heap_);
    for (std::int64_t i = 0; i < count; ++i) {
      heap_.charge(4);
      out.add(base, s.offset(at(i)), s.offset(at(i) + 1));
    }
    return out.take(base.markup());
  }
  const Values& items = base.as<List>().items;
  heap_.check(static_cast<std::uint64_t>(count), sizeof(Value));
  heap_.charge(static_cast<std::uint64_t>(count) / 4);
  Values r;
  r.reserve(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) r.push_back(items[at(i)]);
  return base.is(Kind::list) ? make_list(heap_, std::move(r), base.origin()) : make_tuple(heap_, std::move(r), base.origin());
}

// "ab" * 3, [0] * 3.
Value Interp::repeat(const Value& base, const Value& times) {
  if (times.is(Kind::big)) throw Fault{"cannot fit 'int' into an index-sized integer"};
  const std::int64_t n = std::max<std::int64_t>(clamp_int(times), 0);
  if (base.is_str()) {
    const std::size_t size = text_of(base).size();
    if (size != 0) heap_.check(static_cast<std::uint64_t>(n), size);
    Builder out(heap_);
    if (size != 0 && base.str().runs.empty()) {
      out.add_repeated(text_of(base), static_cast<std::size_t>(n), base.origin());
    } else if (size != 0) {
      for (std::int64_t i = 0; i < n; ++i) out.add(base);
    }
    return out.take(base.markup());
  }
  const Values& items = base.as<List>().items;
  Values r;
  if (!items.empty()) {
    heap_.check(static_cast<std::uint64_t>(n), items.size() * sizeof(Value));
    heap_.charge(static_cast<std::uint64_t>(n) * items.size() / 4);
    r.reserve(static_cast<std::size_t>(n) * items.size());
    for (std::int64_t i = 0; i < n; ++i) r.insert(r.end(), items.begin(), items.end());
  }
  return base.is(Kind::list) ? make_list(heap_, std::move(r), base.origin()) : make_tuple(heap_, std::move(r), base.origin());
}

Value Interp::add(const Value& a, const Value& b) {
  if (a.is_str()) {
    Builder out(heap_);
    const bool markup = a.markup() || b.markup();
    out.add(markup ? escape(heap_, a) : a);
    out.add(markup ? escape(heap_, b) : b);
    return out.take(markup);
  }
  const Values& x = a.as<List>().items;
  const Values& y = b.as<List>().items;
  heap_.check(x.size() + y.size(), sizeof(Value));
  heap_.charge((x.size() + y.size()) / 4);
  Values r(x);
  r.insert(r.end(), y.begin(), y.end());
  return a.is(Kind::list) ? make_list(heap_, std::move(r), a.origin()) : make_tuple(heap_, std::move(r), a.origin());
}

Value Interp::binary(Arith op, const Value& a, const Value& b) {
  heap_.charge();
  if (a.is_number() && b.is_number()) {
    Value r = arithmetic(heap_, op, a, b);
    r.set_origin(here());
    return r;
  }
  if (op == Arith::mod && a.is_str()) return format_percent(*this, a, b);
  if (a.is_undefined()) throw_undefined(a);
  if (b.is_undefined()) throw_undefined(b);
  const auto sequence = [](const Value& v) { return v.is_str() || v.is(Kind::list) || v.is(Kind::tuple); };
  if (op == Arith::add && a.kind() == b.kind() && sequence(a)) return add(a, b);
  if (op == Arith::mul && sequence(a) && b.is_int()) return repeat(a, b);
  if (op == Arith::mul && sequence(b) && a.is_int()) return repeat(b, a);
  throw Fault{"unsupported operand type(s) for " + std::string(symbol(op)) + ": '" + std::string(type_name(a.kind())) + "' and '" +
              std::string(type_name(b.kind())) + "'"};
}

}  // namespace hz::text::jinja
