// SPDX-License-Identifier: Apache-2.0
// json.dumps of template values.
#include <algorithm>
#include <cmath>

#include "src/text/jinja/compare.hpp"
#include "src/text/jinja/number.hpp"
#include "src/text/jinja/print.hpp"
#include "src/text/jinja/unicode.hpp"

namespace hz::text::jinja {

namespace {

constexpr char kHex[] = "0123456789abcdef";

void escape_unit(std::string& out, unsigned unit) {
  out += "\\u";
  for (int shift = 12; shift >= 0; shift -= 4) out.push_back(kHex[unit >> shift & 15U]);
}

// The escape of `c`, empty when it stands for itself.
std::string json_escape(char32_t c, bool ascii) {
  std::string r;
  switch (c) {
    case '"': return "\\\"";
    case '\\': return "\\\\";
    case '\n': return "\\n";
    case '\r': return "\\r";
    case '\t': return "\\t";
    case '\f': return "\\f";
    case '\b': return "\\b";
    default: break;
  }
  if (c < 0x20 || (ascii && c >= 0x7f && c < 0x10000)) {
    escape_unit(r, static_cast<unsigned>(c));
  } else if (ascii && c >= 0x10000) {
    escape_unit(r, static_cast<unsigned>(0xd800 + ((c - 0x10000) >> 10U)));
    escape_unit(r, static_cast<unsigned>(0xdc00 + ((c - 0x10000) & 0x3ffU)));
  }
  return r;
}

std::string json_real(double v) {
  if (std::isnan(v)) return "NaN";
  if (std::isinf(v)) return v < 0 ? "-Infinity" : "Infinity";
  return real_text(v);
}

class JsonWriter {
 public:
  JsonWriter(Heap& heap, const JsonStyle& style, Builder& out) : heap_(heap), style_(style), out_(out) {}

  void write(const Value& v) {
    heap_.charge();
    switch (v.kind()) {
      case Kind::none: return put("null", v);
      case Kind::boolean: return put(v.boolean() ? "true" : "false", v);
      case Kind::integer:
      case Kind::big: return put(int_text(heap_, v), v);
      case Kind::real: return put(json_real(v.real()), v);
      case Kind::str: return string(v);
      case Kind::list:
      case Kind::tuple: return array(v);
      case Kind::dict: return object(v);
      default:
        throw Fault{"Object of type " + std::string(type_name(v.kind())) + " is not JSON serializable" +
                    (v.is_undefined() ? " (" + undefined_message(v) + ")" : "")};
    }
  }

 private:
  void put(std::string_view text, const Value& v) { out_.add(text, v.origin()); }

  void string(const Value& v) {
    const std::string_view text = text_of(v);
    const Origin first = origin_at(v, 0);
    out_.add('"', first);
    std::size_t plain = 0;
    for (std::size_t i = 0; i < text.size();) {
      const std::size_t at = i;
      const std::string escaped = json_escape(decode(text, i), style_.ensure_ascii);
      if (escaped.empty()) continue;
      out_.add(v, plain, at);
      out_.add(escaped, origin_at(v, at));
      plain = i;
    }
    out_.add(v, plain, text.size());
    out_.add('"', first);
  }

  void enter() {
    if (++depth_ > kMaxValueDepth) throw Fault{"values nested deeper than " + std::to_string(kMaxValueDepth)};
  }
  // Before an item, and before the closing bracket.
  void line(const Value& owner) {
    if (!style_.indented) return;
    put("\n", owner);
    for (int i = 0; i < depth_; ++i) put(style_.indent, owner);
  }
  void separate(const Value& owner, bool first) {
    if (!first) put(style_.item_separator, owner);
    line(owner);
  }

  void array(const Value& v) {
    const Values& items = v.as<List>().items;
    if (items.empty()) return put("[]", v);
    enter();
    put("[", v);
    for (std::size_t i = 0; i < items.size(); ++i) {
      separate(v, i == 0);
      write(items[i]);
    }
    --depth_;
    line(v);
    put("]", v);
  }

  Value key_text(const Value& key) {
    switch (key.kind()) {
      case Kind::str: return key;
      case Kind::none: return make_string(heap_, "null", key.origin());
      case Kind::boolean: return make_string(heap_, key.boolean() ? "true" : "false", key.origin());
      case Kind::integer:
      case Kind::big: return make_string(heap_, int_text(heap_, key), key.origin());
      case Kind::real: return make_string(heap_, json_real(key.real()), key.origin());
      default: throw Fault{"keys must be str, int, float, bool or None, not " + std::string(type_name(key.kind()))};
    }
  }

  void object(const Value& v) {
    const auto& entries = v.as<Dict>().entries;
    if (entries.empty()) return put("{}", v);
    std::vector<const Dict::Entry*> sorted;
    for (const auto& e : entries) sorted.push_back(&e);
    if (style_.sort_keys) {
      heap_.charge(8 * sorted.size());
      std::stable_sort(sorted.begin(), sorted.end(), [&](const auto* a, const auto* b) { return order(heap_, a->key, b->key, "<") < 0; });
    }
    enter();
    put("{", v);
    for (std::size_t i = 0; i < sorted.size(); ++i) {
      separate(v, i == 0);
      string(key_text(sorted[i]->key));
      put(style_.key_separator, v);
      write(sorted[i]->value);
    }
    --depth_;
    line(v);
    put("}", v);
  }

  Heap& heap_;
  const JsonStyle& style_;
  Builder& out_;
  int depth_ = 0;
};

}  // namespace

Value to_json(Heap& heap, const Value& v, const JsonStyle& style) {
  Builder out(heap);
  JsonWriter(heap, style, out).write(v);
  return out.take();
}

}  // namespace hz::text::jinja
