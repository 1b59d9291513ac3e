// SPDX-License-Identifier: Apache-2.0
#include "src/text/jinja/print.hpp"

#include <algorithm>
#include <array>

#include "src/text/jinja/ast.hpp"
#include "src/text/jinja/compare.hpp"
#include "src/text/jinja/iterate.hpp"
#include "src/text/jinja/loop.hpp"
#include "src/text/jinja/number.hpp"
#include "src/text/jinja/unicode.hpp"

namespace hz::text::jinja {

namespace {

constexpr char kHex[] = "0123456789abcdef";

// Appends a code point as Python's \xNN, \uNNNN or \UNNNNNNNN.
void escape_code(std::string& out, char32_t c) {
  const int digits = c < 0x100 ? 2 : c < 0x10000 ? 4 : 8;
  out += digits == 2 ? "\\x" : digits == 4 ? "\\u" : "\\U";
  for (int shift = 4 * (digits - 1); shift >= 0; shift -= 4) out.push_back(kHex[c >> shift & 15U]);
}

void repr_str(Builder& out, const Value& v) {
  const std::string_view text = text_of(v);
  const bool twin = text.find('\'') != std::string_view::npos && text.find('"') == std::string_view::npos;
  const char quote = twin ? '"' : '\'';
  const Origin first = origin_at(v, 0);
  if (v.markup()) out.add("Markup(", first);
  out.add(quote, first);
  std::size_t plain = 0;  // start of the text not yet written
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t at = i;
    const char32_t c = decode(text, i);
    std::string escaped;
    if (c == '\\' || c == static_cast<char32_t>(quote)) escaped = {'\\', static_cast<char>(c)};
    else if (c == '\n') escaped = "\\n";
    else if (c == '\r') escaped = "\\r";
    else if (c == '\t') escaped = "\\t";
    else if (!is_printable(c)) escape_code(escaped, c);
    else continue;
    out.add(v, plain, at);
    out.add(escaped, origin_at(v, at));
    plain = i;
  }
  out.add(v, plain, text.size());
  out.add(quote, first);
  if (v.markup()) out.add(')', first);
}

class Printer {
 public:
  Printer(Heap& heap, Builder& out) : heap_(heap), out_(out) {}

  void repr(const Value& v) {
    heap_.charge();
    if (++depth_ > kMaxValueDepth) throw Fault{"values nested deeper than " + std::to_string(kMaxValueDepth)};
    write(v);
    --depth_;
  }

 private:
  void put(std::string_view text, const Value& v) { out_.add(text, v.origin()); }

  void items(const Value& owner, const Values& values) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (i != 0) put(", ", owner);
      repr(values[i]);
    }
  }

  void dict(const Value& v) {
    put("{", v);
    bool first = true;
    for (const auto& e : v.as<Dict>().entries) {
      if (!first) put(", ", v);
      first = false;
      repr(e.key);
      put(": ", v);
      repr(e.value);
    }
    put("}", v);
  }

  void view(const Value& v) {
    constexpr std::string_view kNames[] = {"dict_keys([", "dict_values([", "dict_items(["};
    put(kNames[static_cast<std::size_t>(v.as<View>().what)], v);
    items(v, items_of(heap_, v));
    put("])", v);
  }

  void space(const Value& v) {
    put("<Namespace {", v);
    bool first = true;
    for (const auto& [name, value] : v.as<Namespace>().attributes) {
      if (!first) put(", ", v);
      first = false;
      put("'" + name + "': ", v);
      repr(value);
    }
    put("}>", v);
  }

  void range(const Value& v) {
    const auto& r = v.as<Range>();
    std::string text = "range(" + std::to_string(r.start) + ", " + std::to_string(r.stop);
    if (r.step != 1) text += ", " + std::to_string(r.step);
    put(text + ")", v);
  }

  void write(const Value& v) {
    switch (v.kind()) {
      case Kind::missing:
      case Kind::undefined: return put("Undefined", v);
      case Kind::none: return put("None", v);
      case Kind::boolean: return put(v.boolean() ? "True" : "False", v);
      case Kind::integer:
      case Kind::big: return put(int_text(heap_, v), v);
      case Kind::real: return put(real_text(v.real()), v);
      case Kind::str: return repr_str(out_, v);
      case Kind::list:
        put("[", v);
        items(v, v.as<List>().items);
        return put("]", v);
      case Kind::tuple:
        put("(", v);
        items(v, v.as<List>().items);
        return put(v.as<List>().items.size() == 1 ? ",)" : ")", v);
      case Kind::dict: return dict(v);
      case Kind::view: return view(v);
      case Kind::range: return range(v);
      case Kind::space: return space(v);
      case Kind::loop: return put(v.as<Loop>().describe(), v);
      case Kind::macro: return put(v.as<Macro>().def.anonymous ? "<Macro anonymous>" : "<Macro '" + v.as<Macro>().def.name + "'>", v);
      default: return put("<" + std::string(type_name(v.kind())) + " object>", v);
    }
  }

  Heap& heap_;
  Builder& out_;
  int depth_ = 0;
};

}  // namespace

std::string_view type_name(Kind kind) {
  constexpr std::array<std::string_view, 22> kNames = {
      "missing",   "Undefined", "NoneType",  "bool",      "int",   "float",    "int",    "str",         "list",   "tuple",  "dict",
      "dict_view", "range",     "generator", "Namespace", "Macro", "function", "method", "LoopContext", "Cycler", "Joiner", "scope"};
  return kNames[static_cast<std::size_t>(kind)];
}

std::string object_name(Kind kind) {
  if (kind == Kind::none) return "None";
  return std::string(type_name(kind)) + " object";
}

std::string undefined_message(const Value& v) {
  const std::string name(text_of(v));
  switch (v.why()) {
    case Value::Why::variable: return "'" + name + "' is undefined";
    case Value::Why::attribute: return "'" + object_name(v.base()) + "' has no attribute '" + name + "'";
    case Value::Why::element: return object_name(v.base()) + " has no element " + name;
    case Value::Why::hint: return name;
    case Value::Why::unsafe: return "access to attribute '" + name + "' of '" + std::string(type_name(v.base())) + "' object is unsafe.";
  }
  return name;
}

Value to_str(Heap& heap, const Value& v) {
  if (v.is_str()) return v;
  Builder out(heap);
  print_str(heap, out, v);
  return out.take();
}

void print_str(Heap& heap, Builder& out, const Value& v) {
  if (v.is_str()) out.add(v);
  else if (!v.is_undefined()) print_repr(heap, out, v);
}

void print_repr(Heap& heap, Builder& out, const Value& v) { Printer(heap, out).repr(v); }

std::string repr_text(Heap& heap, const Value& v, std::size_t limit) {
  Builder out(heap);
  print_repr(heap, out, v);
  std::string text = out.text();
  if (text.size() <= limit) return text;
  while (limit > 0 && (static_cast<unsigned char>(text[limit]) & 0xc0U) == 0x80U) --limit;
  text.resize(limit);
  return text + "...";
}

}  // namespace hz::text::jinja
