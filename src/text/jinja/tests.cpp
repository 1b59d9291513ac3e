// SPDX-License-Identifier: Apache-2.0
// The tests behind `is`.
#include <algorithm>

#include "src/text/jinja/bind.hpp"
#include "src/text/jinja/compare.hpp"
#include "src/text/jinja/iterate.hpp"
#include "src/text/jinja/methods.hpp"
#include "src/text/jinja/print.hpp"

namespace hz::text::jinja {

namespace {

template <Kind... kinds>
bool is_kind(Interp&, const Value& v, Args& args) {
  bind_none("test", args);
  return ((v.kind() == kinds) || ...);
}

bool test_defined(Interp&, const Value& v, Args& args) {
  bind_none("defined", args);
  return !v.is_undefined();
}

template <bool wanted>
bool test_bool(Interp&, const Value& v, Args& args) {
  bind_none("test", args);
  return v.is(Kind::boolean) && v.boolean() == wanted;
}

bool test_number(Interp&, const Value& v, Args& args) {
  bind_none("number", args);
  return v.is_number();
}

bool rest_is(Interp& in, const Value& v, const Value& by, std::int64_t wanted) {
  return equal(in.heap(), in.binary(Arith::mod, v, by), Value::integer(wanted));
}

template <std::int64_t rest>
bool test_parity(Interp& in, const Value& v, Args& args) {
  bind_none("test", args);
  return rest_is(in, v, Value::integer(2), rest);
}

bool test_divisible(Interp& in, const Value& v, Args& args) {
  const auto [by] = bind<1>("divisibleby", args, {"num"}, 1);
  return rest_is(in, v, by, 0);
}

template <bool upper>
bool test_case(Interp& in, const Value& v, Args& args) {
  bind_none("test", args);
  const Value s = to_str(in.heap(), v);
  return upper ? is_upper_text(in.heap(), text_of(s)) : is_lower_text(in.heap(), text_of(s));
}

bool test_sequence(Interp&, const Value& v, Args& args) {
  bind_none("sequence", args);
  return v.is_undefined() || v.is_str() || v.is(Kind::list) || v.is(Kind::tuple) || v.is(Kind::dict) || v.is(Kind::range);
}

bool test_iterable(Interp&, const Value& v, Args& args) {
  bind_none("iterable", args);
  return is_iterable(v) || v.is(Kind::loop);
}

bool test_callable(Interp&, const Value& v, Args& args) {
  bind_none("callable", args);
  switch (v.kind()) {
    case Kind::undefined:
    case Kind::macro:
    case Kind::function:
    case Kind::method:
    case Kind::loop:
    case Kind::joiner: return true;
    default: return false;
  }
}

bool test_escaped(Interp&, const Value& v, Args& args) {
  bind_none("escaped", args);
  return v.markup();
}

bool test_sameas(Interp& in, const Value& v, Args& args) {
  const auto [other] = bind<1>("sameas", args, {"other"}, 1);
  if (v.kind() != other.kind()) return false;
  if (v.identity() != nullptr && !v.is_str()) return v.identity() == other.identity();
  return equal(in.heap(), v, other);
}

bool test_in(Interp& in, const Value& v, Args& args) {
  const auto [seq] = bind<1>("in", args, {"seq"}, 1);
  return contains(in.heap(), seq, v);
}

template <bool filters>
bool test_known(Interp& in, const Value& v, Args& args) {
  bind_none("test", args);
  hash_of(in.heap(), v);  // as a key of a table, it must be hashable
  if (!v.is_str()) return false;
  return filters ? find_filter(text_of(v)) != nullptr : find_test(text_of(v)) != nullptr;
}

template <bool wanted>
bool test_equal(Interp& in, const Value& v, Args& args) {
  const auto [other] = bind<1>("eq", args, {""}, 1);
  return equal(in.heap(), v, other) == wanted;
}

enum class Than : std::uint8_t { lt, le, gt, ge };
template <Than than>
bool test_order(Interp& in, const Value& v, Args& args) {
  const auto [other] = bind<1>("comparison", args, {""}, 1);
  constexpr std::string_view kNames[] = {"<", "<=", ">", ">="};
  const auto c = order(in.heap(), v, other, kNames[static_cast<std::size_t>(than)]);
  switch (than) {
    case Than::lt: return c < 0;
    case Than::le: return c <= 0;
    case Than::gt: return c > 0;
    case Than::ge: return c >= 0;
  }
  return false;
}

constexpr TestDef kTests[] = {
    {"!=", test_equal<false>},
    {"<", test_order<Than::lt>},
    {"<=", test_order<Than::le>},
    {"==", test_equal<true>},
    {">", test_order<Than::gt>},
    {">=", test_order<Than::ge>},
    {"boolean", is_kind<Kind::boolean>},
    {"callable", test_callable},
    {"defined", test_defined},
    {"divisibleby", test_divisible},
    {"eq", test_equal<true>},
    {"equalto", test_equal<true>},
    {"escaped", test_escaped},
    {"even", test_parity<0>},
    {"false", test_bool<false>},
    {"filter", test_known<true>},
    {"float", is_kind<Kind::real>},
    {"ge", test_order<Than::ge>},
    {"greaterthan", test_order<Than::gt>},
    {"gt", test_order<Than::gt>},
    {"in", test_in},
    {"integer", is_kind<Kind::integer, Kind::big>},
    {"iterable", test_iterable},
    {"le", test_order<Than::le>},
    {"lessthan", test_order<Than::lt>},
    {"lower", test_case<false>},
    {"lt", test_order<Than::lt>},
    {"mapping", is_kind<Kind::dict>},
    {"ne", test_equal<false>},
    {"none", is_kind<Kind::none>},
    {"number", test_number},
    {"odd", test_parity<1>},
    {"sameas", test_sameas},
    {"sequence", test_sequence},
    {"string", is_kind<Kind::str>},
    {"test", test_known<false>},
    {"true", test_bool<true>},
    {"undefined", is_kind<Kind::undefined>},
    {"upper", test_case<true>},
};

}  // namespace

const TestDef* find_test(std::string_view name) {
  const auto* at =
      std::lower_bound(std::begin(kTests), std::end(kTests), name, [](const TestDef& t, std::string_view n) { return t.name < n; });
  return at != std::end(kTests) && at->name == name ? at : nullptr;
}

}  // namespace hz::text::jinja
