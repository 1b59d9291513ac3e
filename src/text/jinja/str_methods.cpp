// SPDX-License-Identifier: Apache-2.0
// Methods of strings: searching, splitting, joining, replacing, padding.
#include <limits>

#include "src/text/jinja/bind.hpp"
#include "src/text/jinja/compare.hpp"
#include "src/text/jinja/escape.hpp"
#include "src/text/jinja/format.hpp"
#include "src/text/jinja/iterate.hpp"
#include "src/text/jinja/methods.hpp"
#include "src/text/jinja/print.hpp"
#include "src/text/jinja/str_ops.hpp"

namespace hz::text::jinja {

namespace {

constexpr std::size_t kNone = std::string_view::npos;

Value number(Interp& in, std::size_t n) { return Value::integer(static_cast<std::int64_t>(n), in.here()); }

template <Recase how>
Value cased(Interp& in, const Value& self, Args& args) {
  bind_none("str method", args);
  return recase(in.heap(), self, how);
}

template <bool left, bool right>
Value stripped(Interp& in, const Value& self, Args& args) {
  const auto [chars] = bind<1>("strip", args, {""}, 0);
  if (!chars.is_missing() && !chars.is_none()) want_str("strip", chars);
  return strip(in.heap(), self, chars, left, right);
}

Value split_method(Interp& in, const Value& self, Args& args) {
  const auto [sep, limit] = bind<2>("split", args, {"sep", "maxsplit"}, 0);
  return make_list(in.heap(), split(in.heap(), self, sep, int_or("split", limit, -1)), in.here());
}

Value rsplit_method(Interp& in, const Value& self, Args& args) {
  const auto [sep, limit] = bind<2>("rsplit", args, {"sep", "maxsplit"}, 0);
  return make_list(in.heap(), split_right(in.heap(), self, sep, int_or("rsplit", limit, -1)), in.here());
}

Value splitlines_method(Interp& in, const Value& self, Args& args) {
  const auto [keep] = bind<1>("splitlines", args, {"keepends"}, 0);
  return make_list(in.heap(), split_lines(in.heap(), self, truth_or(keep, false)), in.here());
}

// The byte range that optional start and end (code points) select; false when start lies beyond the end.
bool selected(const Value& self, const Value& start, const Value& end, std::size_t& from, std::size_t& to) {
  const auto length = static_cast<std::int64_t>(self.str().length);
  const auto bound = [&](const Value& v, std::int64_t fallback) {
    std::int64_t i = int_or("str method", v, fallback);
    if (i < 0) i = i < -length ? 0 : i + length;
    return i;
  };
  const std::int64_t a = bound(start, 0);
  const std::int64_t b = std::min(bound(end, length), length);
  if (a > length || a > b) return false;
  from = self.str().offset(static_cast<std::size_t>(a));
  to = self.str().offset(static_cast<std::size_t>(b));
  return true;
}

template <bool last, bool must>
Value find_method_of(Interp& in, const Value& self, Args& args) {
  const auto [needle, start, end] = bind<3>("find", args, {"", "", ""}, 1);
  const std::string_view text = text_of(self);
  const std::string_view wanted = text_of(want_str("find", needle));
  in.heap().charge_bytes(4 * text.size());
  std::size_t from = 0, to = 0, at = kNone;
  if (selected(self, start, end, from, to)) at = last ? find_text_last(text, wanted, from, to) : find_text(text, wanted, from, to);
  if (at != kNone) return number(in, count_codes(text.substr(0, at)));
  if (must) throw Fault{"substring not found"};
  return Value::integer(-1, in.here());
}

Value count_method(Interp& in, const Value& self, Args& args) {
  const auto [needle, start, end] = bind<3>("count", args, {"", "", ""}, 1);
  const std::string_view text = text_of(self);
  const std::string_view wanted = text_of(want_str("count", needle));
  in.heap().charge_bytes(4 * text.size());
  std::size_t from = 0, to = 0, n = 0;
  if (!selected(self, start, end, from, to)) return number(in, 0);
  if (wanted.empty()) return number(in, count_codes(text.substr(from, to - from)) + 1);
  for (std::size_t at = from; (at = find_text(text, wanted, at, to)) != kNone; at += wanted.size()) ++n;
  return number(in, n);
}

template <bool end>
Value affix_method(Interp& in, const Value& self, Args& args) {
  const std::string_view name = end ? "endswith" : "startswith";
  const auto [wanted, start, stop] = bind<3>(name, args, {"", "", ""}, 1);
  std::size_t from = 0, to = 0;
  if (!selected(self, start, stop, from, to)) return Value::boolean(false, in.here());
  const std::string_view text = text_of(self).substr(from, to - from);
  const auto has = [&](const Value& v) {
    const std::string_view affix = text_of(want_str(name, v));
    return end ? text.ends_with(affix) : text.starts_with(affix);
  };
  bool found = false;
  if (wanted.is(Kind::tuple)) {
    for (const Value& v : wanted.as<List>().items) found = found || has(v);
  } else {
    found = has(wanted);
  }
  return Value::boolean(found, in.here());
}

Value replace_method(Interp& in, const Value& self, Args& args) {
  const auto [from, to, limit] = bind<3>("replace", args, {"", "", "count"}, 2);
  want_str("replace", from);
  const Value with = self.markup() ? escape(in.heap(), want_str("replace", to)) : want_str("replace", to);
  return replace(in.heap(), self, from, with, int_or("replace", limit, -1));
}

Value join_method(Interp& in, const Value& self, Args& args) {
  const auto [items] = bind<1>("join", args, {""}, 1);
  Sequence sequence(in.heap(), items);
  Builder out(in.heap());
  bool first = true;
  std::size_t i = 0;
  for (Value v; sequence.next(v); first = false, ++i) {
    in.heap().charge();
    if (!first) out.add(self);
    if (!v.is_str() && !self.markup()) {
      throw Fault{"sequence item " + std::to_string(i) + ": expected str instance, " + std::string(type_name(v.kind())) + " found"};
    }
    out.add(self.markup() ? escape(in.heap(), to_str(in.heap(), v)) : v);
  }
  return out.take(self.markup());
}

template <bool last>
Value partition_method(Interp& in, const Value& self, Args& args) {
  const auto [sep] = bind<1>("partition", args, {""}, 1);
  const std::string_view wanted = text_of(want_str("partition", sep));
  if (wanted.empty()) throw Fault{"empty separator"};
  const std::string_view text = text_of(self);
  in.heap().charge_bytes(4 * text.size());
  const std::size_t at = last ? find_text_last(text, wanted, 0, text.size()) : find_text(text, wanted, 0, text.size());
  const auto cut = [&](std::size_t a, std::size_t b) { return slice_bytes(in.heap(), self, a, b); };
  Values parts;
  if (at != kNone) parts = {cut(0, at), cut(at, at + wanted.size()), cut(at + wanted.size(), text.size())};
  else if (last) parts = {cut(0, 0), cut(0, 0), self};
  else parts = {self, cut(0, 0), cut(0, 0)};
  return make_tuple(in.heap(), std::move(parts), in.here());
}

template <bool suffix>
Value remove_method(Interp& in, const Value& self, Args& args) {
  const auto [affix] = bind<1>("removeprefix", args, {""}, 1);
  const std::string_view wanted = text_of(want_str("removeprefix", affix));
  const std::string_view text = text_of(self);
  if (suffix ? !text.ends_with(wanted) : !text.starts_with(wanted)) return self;
  return slice_bytes(in.heap(), self, suffix ? 0 : wanted.size(), text.size() - (suffix ? wanted.size() : 0));
}

enum class Align : std::uint8_t { left, right, center };
template <Align align>
Value pad_method(Interp& in, const Value& self, Args& args) {
  const auto [width_, fill_] = bind<2>("center", args, {"", ""}, 1);
  const std::size_t width = want_count(in, "center", want_int("center", width_));
  Value fill = fill_.is_missing() ? in.text(" ") : fill_;
  if (want_str("center", fill).str().length != 1) throw Fault{"The fill character must be exactly one character long"};
  const std::size_t length = self.str().length;
  if (width <= length) return self;
  const std::size_t total = width - length;
  const std::size_t left = align == Align::left ? 0 : align == Align::right ? total : center_left(total, width);
  return pad(in.heap(), self, left, total - left, text_of(fill), fill.origin());
}

Value zfill_method(Interp& in, const Value& self, Args& args) {
  const auto [width_] = bind<1>("zfill", args, {""}, 1);
  const std::size_t width = want_count(in, "zfill", want_int("zfill", width_));
  const std::size_t length = self.str().length;
  if (width <= length) return self;
  const std::string_view text = text_of(self);
  const std::size_t sign = !text.empty() && (text[0] == '-' || text[0] == '+') ? 1 : 0;
  Builder out(in.heap());
  out.add(self, 0, sign);
  out.add_repeated("0", width - length, origin_at(self, 0));
  out.add(self, sign, text.size());
  return out.take(self.markup());
}

Value expandtabs_method(Interp& in, const Value& self, Args& args) {
  const auto [size_] = bind<1>("expandtabs", args, {"tabsize"}, 0);
  const std::size_t size = want_count(in, "expandtabs", int_or("expandtabs", size_, 8));
  const std::string_view text = text_of(self);
  Builder out(in.heap());
  std::size_t column = 0;
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t at = i;
    const char32_t c = decode(text, i);
    in.heap().charge();
    if (c == '\t') {
      const std::size_t spaces = size == 0 ? 0 : size - column % size;
      out.add_repeated(" ", spaces, origin_at(self, at));
      column += spaces;
      continue;
    }
    out.add(self, at, i);
    column = c == '\n' || c == '\r' ? 0 : column + 1;
  }
  return out.take(self.markup());
}

Value format_method(Interp& in, const Value& self, Args& args) { return format_braces(in, self, args); }

Value format_map_method(Interp& in, const Value& self, Args& args) {
  const auto [mapping] = bind<1>("format_map", args, {""}, 1);
  if (!mapping.is(Kind::dict)) throw Fault{"format_map() needs a mapping"};
  Args named;
  for (const auto& e : mapping.as<Dict>().entries) {
    if (e.key.is_str()) named.named.emplace_back(std::string(text_of(e.key)), e.value);
  }
  return format_braces(in, self, named);
}

Value no_bytes(Interp&, const Value&, Args&) { throw Fault{"bytes and translation tables are not supported", ErrorKind::unsupported}; }

}  // namespace

const MethodDef kStrMethods[] = {
    {"capitalize", cased<Recase::capitalize>},
    {"casefold", cased<Recase::fold>},
    {"center", pad_method<Align::center>},
    {"count", count_method},
    {"encode", no_bytes},
    {"endswith", affix_method<true>},
    {"expandtabs", expandtabs_method},
    {"find", find_method_of<false, false>},
    {"format", format_method},
    {"format_map", format_map_method},
    {"index", find_method_of<false, true>},
    {"isalnum", str_isalnum},
    {"isalpha", str_isalpha},
    {"isascii", str_isascii},
    {"isdecimal", str_isdecimal},
    {"isdigit", str_isdigit},
    {"isidentifier", str_isidentifier},
    {"islower", str_islower},
    {"isnumeric", str_isnumeric},
    {"isprintable", str_isprintable},
    {"isspace", str_isspace},
    {"istitle", str_istitle},
    {"isupper", str_isupper},
    {"join", join_method},
    {"ljust", pad_method<Align::left>},
    {"lower", cased<Recase::lower>},
    {"lstrip", stripped<true, false>},
    {"maketrans", no_bytes},
    {"partition", partition_method<false>},
    {"removeprefix", remove_method<false>},
    {"removesuffix", remove_method<true>},
    {"replace", replace_method},
    {"rfind", find_method_of<true, false>},
    {"rindex", find_method_of<true, true>},
    {"rjust", pad_method<Align::right>},
    {"rpartition", partition_method<true>},
    {"rsplit", rsplit_method},
    {"rstrip", stripped<false, true>},
    {"split", split_method},
    {"splitlines", splitlines_method},
    {"startswith", affix_method<false>},
    {"strip", stripped<true, true>},
    {"swapcase", cased<Recase::swap>},
    {"title", cased<Recase::title>},
    {"translate", no_bytes},
    {"upper", cased<Recase::upper>},
    {"zfill", zfill_method},
};
const std::size_t kStrMethodCount = std::size(kStrMethods);

}  // namespace hz::text::jinja
