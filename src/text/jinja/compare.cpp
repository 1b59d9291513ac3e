// SPDX-License-Identifier: Apache-2.0
#include "src/text/jinja/compare.hpp"

#include <cmath>
#include <cstring>
#include <functional>

#include "src/text/jinja/iterate.hpp"
#include "src/text/jinja/number.hpp"
#include "src/text/jinja/objects.hpp"
#include "src/text/jinja/print.hpp"

namespace hz::text::jinja {

namespace {

void guard_depth(int depth) {
  if (depth > kMaxValueDepth) throw Fault{"values nested deeper than " + std::to_string(kMaxValueDepth)};
}

std::partial_ordering number_order(const Value& a, const Value& b) {
  if (a.is_small_int() && b.is_small_int()) return a.integer() <=> b.integer();
  if (a.is(Kind::real) && b.is(Kind::real)) return a.real() <=> b.real();
  if (a.is_int() && b.is_int()) return big_of(a) <=> big_of(b);
  if (b.is(Kind::real)) {
    // Exact: the integer against the integer part of the double, then the fraction decides.
    const double d = b.real();
    if (std::isnan(d)) return std::partial_ordering::unordered;
    if (std::isinf(d)) return d > 0 ? std::partial_ordering::less : std::partial_ordering::greater;
    const double whole = std::trunc(d);
    const auto r = big_of(a) <=> BigInt::from_double(whole);
    if (r != 0) return r;
    return 0.0 <=> d - whole;
  }
  return 0 <=> number_order(b, a);
}

bool equal_at(Heap& heap, const Value& a, const Value& b, int depth);

bool equal_items(Heap& heap, const Values& a, const Values& b, int depth) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    heap.charge();
    if (!equal_at(heap, a[i], b[i], depth + 1)) return false;
  }
  return true;
}

bool equal_dicts(Heap& heap, const Dict& a, const Dict& b, int depth) {
  if (a.entries.size() != b.entries.size()) return false;
  for (const auto& e : a.entries) {
    heap.charge();
    const Value* other = b.find(heap, e.key);
    if (other == nullptr || !equal_at(heap, e.value, *other, depth + 1)) return false;
  }
  return true;
}

bool equal_ranges(const Range& a, const Range& b) {
  return a.count == b.count && (a.count == 0 || (a.start == b.start && (a.count == 1 || a.step == b.step)));
}

bool equal_at(Heap& heap, const Value& a, const Value& b, int depth) {
  guard_depth(depth);
  if (a.is_number() && b.is_number()) {
    return number_order(a, b) == 0;
  }
  if (a.kind() != b.kind()) return false;
  switch (a.kind()) {
    case Kind::undefined:
    case Kind::none: return true;
    case Kind::str:
      if (text_of(a).size() != text_of(b).size()) return false;
      heap.charge_bytes(text_of(a).size());
      return text_of(a) == text_of(b);
    case Kind::list:
    case Kind::tuple: return a.identity() == b.identity() || equal_items(heap, a.as<List>().items, b.as<List>().items, depth);
    case Kind::dict: return a.identity() == b.identity() || equal_dicts(heap, a.as<Dict>(), b.as<Dict>(), depth);
    case Kind::range: return equal_ranges(a.as<Range>(), b.as<Range>());
    default: return a.identity() == b.identity();
  }
}

std::partial_ordering order_at(Heap& heap, const Value& a, const Value& b, std::string_view op, int depth) {
  guard_depth(depth);
  if (a.is_number() && b.is_number()) return number_order(a, b);
  if (a.is_undefined()) throw_undefined(a);
  if (b.is_undefined()) throw_undefined(b);
  if (a.is_str() && b.is_str()) {
    heap.charge_bytes(std::min(text_of(a).size(), text_of(b).size()));
    return text_of(a).compare(text_of(b)) <=> 0;  // UTF-8 sorts as code points do
  }
  if ((a.is(Kind::list) && b.is(Kind::list)) || (a.is(Kind::tuple) && b.is(Kind::tuple))) {
    const Values& x = a.as<List>().items;
    const Values& y = b.as<List>().items;
    for (std::size_t i = 0; i < x.size() && i < y.size(); ++i) {
      heap.charge();
      if (!equal_at(heap, x[i], y[i], depth + 1)) return order_at(heap, x[i], y[i], op, depth + 1);
    }
    return x.size() <=> y.size();
  }
  throw Fault{"'" + std::string(op) + "' not supported between instances of '" + std::string(type_name(a.kind())) + "' and '" +
              std::string(type_name(b.kind())) + "'"};
}

bool range_contains(Heap& heap, const Range& r, const Value& item) {
  if (!item.is_number() || r.count == 0) return false;
  if (!item.is_small_int())
    return item.is(Kind::real) && item.real() == std::trunc(item.real()) && std::fabs(item.real()) < 1e15 &&
           range_contains(heap, r, Value::integer(static_cast<std::int64_t>(item.real())));
  const std::int64_t v = item.integer();
  const std::int64_t last = r.start + r.step * (r.count - 1);
  if (v < std::min(r.start, last) || v > std::max(r.start, last)) return false;
  return (v - r.start) % r.step == 0;
}

}  // namespace

void throw_undefined(const Value& v) { throw Fault{undefined_message(v)}; }

bool truthy(const Value& v) {
  switch (v.kind()) {
    case Kind::missing:
    case Kind::undefined:
    case Kind::none: return false;
    case Kind::boolean:
    case Kind::integer: return v.integer() != 0;
    case Kind::real: return v.real() != 0;
    case Kind::str: return !text_of(v).empty();
    case Kind::list:
    case Kind::tuple: return !v.as<List>().items.empty();
    case Kind::dict: return !v.as<Dict>().entries.empty();
    case Kind::view: return truthy(v.as<View>().dict);
    case Kind::range: return v.as<Range>().count != 0;
    default: return true;
  }
}

bool equal(Heap& heap, const Value& a, const Value& b) { return equal_at(heap, a, b, 0); }

std::partial_ordering order(Heap& heap, const Value& a, const Value& b, std::string_view op) { return order_at(heap, a, b, op, 0); }

bool contains(Heap& heap, const Value& container, const Value& item) {
  switch (container.kind()) {
    case Kind::str: {
      if (item.is_undefined()) throw_undefined(item);
      if (!item.is_str()) {
        throw Fault{"'in <string>' requires string as left operand, not " + std::string(type_name(item.kind()))};
      }
      const std::string_view hay = text_of(container);
      const std::string_view needle = text_of(item);
      heap.charge_bytes(4 * hay.size());
      return needle.empty() || memmem(hay.data(), hay.size(), needle.data(), needle.size()) != nullptr;
    }
    case Kind::dict: return container.as<Dict>().find(heap, item) != nullptr;
    case Kind::range: return range_contains(heap, container.as<Range>(), item);
    case Kind::view:
      if (container.as<View>().what == View::What::keys) return contains(heap, container.as<View>().dict, item);
      break;
    default: break;
  }
  if (!is_iterable(container)) {
    throw Fault{"argument of type '" + std::string(type_name(container.kind())) + "' is not iterable"};
  }
  Sequence items(heap, container);
  for (Value v; items.next(v);) {
    heap.charge();
    if (equal(heap, v, item)) return true;
  }
  return false;
}

std::size_t hash_of(std::string_view text) { return std::hash<std::string_view>{}(text); }

namespace {
std::size_t hash_at(Heap& heap, const Value& v, int depth) {
  guard_depth(depth);
  switch (v.kind()) {
    case Kind::boolean:
    case Kind::integer: return std::hash<double>{}(static_cast<double>(v.integer()));
    case Kind::real: return std::hash<double>{}(v.real());
    case Kind::big: return std::hash<double>{}(v.as<Big>().v.to_double());
    case Kind::str: heap.charge_bytes(text_of(v).size()); return hash_of(text_of(v));
    case Kind::tuple: {
      std::size_t h = 0x9e3779b97f4a7c15ULL;
      for (const Value& item : v.as<List>().items) {
        heap.charge();
        h = (h ^ hash_at(heap, item, depth + 1)) * 0x100000001b3ULL;
      }
      return h;
    }
    case Kind::none: return 1;
    case Kind::undefined: return 2;
    case Kind::list:
    case Kind::dict: throw Fault{"unhashable type: '" + std::string(type_name(v.kind())) + "'"};
    default: return std::hash<const Object*>{}(v.identity());
  }
}
}  // namespace

std::size_t hash_of(Heap& heap, const Value& v) { return hash_at(heap, v, 0); }

}  // namespace hz::text::jinja
