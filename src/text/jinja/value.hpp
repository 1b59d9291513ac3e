// SPDX-License-Identifier: Apache-2.0
// Value: a Python-like value of the template language, 16 bytes, copied by reference count.
#pragma once
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "src/text/jinja/heap.hpp"
#include "src/text/jinja/origin.hpp"

namespace hz::text::jinja {

enum class Kind : std::uint8_t {
  missing,    // no value at all (an argument that was not given); never visible to a template
  undefined,  // jinja's Undefined; points to the Str that names it, see Value::undefined
  none,
  boolean,
  integer,  // 64 bits; larger ones are `big`
  real,
  big,
  str,
  list,
  tuple,
  dict,
  view,  // dict keys, values, items
  range,
  iter,   // a generator: read once
  space,  // namespace()
  macro,
  function,  // a global function
  method,    // a method bound to its object
  loop,
  cycler,
  joiner,
  scope,  // the variables of a block; never visible to a template
};

struct Str;

class Value {
 public:
  Value() = default;
  Value(const Value& other) noexcept : kind_(other.kind_), flags_(other.flags_), origin_(other.origin_), as_(other.as_) {
    if (counted()) ++as_.object->refs_;
  }
  Value(Value&& other) noexcept : kind_(other.kind_), flags_(other.flags_), origin_(other.origin_), as_(other.as_) {
    other.kind_ = Kind::missing;
  }
  Value& operator=(Value other) noexcept {
    std::swap(kind_, other.kind_);
    std::swap(flags_, other.flags_);
    std::swap(origin_, other.origin_);
    std::swap(as_, other.as_);
    return *this;
  }
  ~Value() {
    if (counted() && --as_.object->refs_ == 0) as_.object->heap_->retire(as_.object);
  }

  static Value none(Origin origin = {}) { return Value(Kind::none, origin); }
  static Value boolean(bool v, Origin origin = {}) {
    Value r(Kind::boolean, origin);
    r.as_.integer = v ? 1 : 0;
    return r;
  }
  static Value integer(std::int64_t v, Origin origin = {}) {
    Value r(Kind::integer, origin);
    r.as_.integer = v;
    return r;
  }
  static Value real(double v, Origin origin = {}) {
    Value r(Kind::real, origin);
    r.as_.real = v;
    return r;
  }
  static Value object(Kind kind, Object* object, Origin origin = {}) {
    Value r(kind, origin);
    r.as_.object = object;
    if (object->heap_ != nullptr) ++object->refs_;
    return r;
  }
  // How an undefined value explains itself: what the Str it points to is.
  enum class Why : std::uint8_t { variable, attribute, element, hint, unsafe };
  // `base`: kind of the object that lacks the attribute or element.
  static Value undefined(Why why, Kind base, const Value& name) {
    Value r = name;
    r.kind_ = Kind::undefined;
    r.flags_ = static_cast<std::uint8_t>(static_cast<unsigned>(why) << 5U | static_cast<unsigned>(base));
    r.origin_ = {};
    return r;
  }

  Kind kind() const { return kind_; }
  bool is(Kind kind) const { return kind_ == kind; }
  bool is_missing() const { return kind_ == Kind::missing; }
  bool is_undefined() const { return kind_ == Kind::undefined; }
  bool is_none() const { return kind_ == Kind::none; }
  bool is_str() const { return kind_ == Kind::str; }

  // Booleans are integers too, as in Python.
  bool is_small_int() const { return kind_ == Kind::integer || kind_ == Kind::boolean; }
  bool is_int() const { return is_small_int() || kind_ == Kind::big; }
  bool is_number() const { return is_int() || kind_ == Kind::real; }
  std::int64_t integer() const { return as_.integer; }
  bool boolean() const { return as_.integer != 0; }
  double real() const { return as_.real; }

  template <class T>
  T& as() const {
    return *static_cast<T*>(as_.object);
  }
  const Object* identity() const { return has_object() ? as_.object : nullptr; }
  bool sole_owner() const { return counted() && as_.object->refs_ == 1; }

  const Str& str() const;  // defined with Str
  // Text that markupsafe would call Markup: joining it with plain text escapes that text.
  bool markup() const { return kind_ == Kind::str && flags_ != 0; }
  void set_markup(bool markup) { flags_ = markup ? 1 : 0; }

  // Of an undefined value.
  Why why() const { return static_cast<Why>(flags_ >> 5U); }
  Kind base() const { return static_cast<Kind>(flags_ & 31U); }

  // For strings with several runs this is unspecified: see Str::runs.
  Origin origin() const { return origin_; }
  void set_origin(Origin origin) { origin_ = origin; }

 private:
  Value(Kind kind, Origin origin) : kind_(kind), origin_(origin) {}
  bool has_object() const { return kind_ >= Kind::big || kind_ == Kind::undefined; }
  bool counted() const { return has_object() && as_.object->heap_ != nullptr; }

  Kind kind_ = Kind::missing;
  std::uint8_t flags_ = 0;
  Origin origin_;
  union {
    std::int64_t integer;
    double real;
    Object* object;
  } as_ = {0};
};

using Values = std::vector<Value>;

// Python's name of the type ("int", "str", "dict"), for messages.
std::string_view type_name(Kind kind);

}  // namespace hz::text::jinja
