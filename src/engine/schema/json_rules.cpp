// SPDX-License-Identifier: Apache-2.0
// The parts of JSON text (RFC 8259) as grammar expressions.
#include "src/engine/schema/json_rules.hpp"

#include "hanzo/text/utf8.hpp"

namespace hz::engine {
namespace {

constexpr std::int32_t kMostIndent = 40, kMostDigits = 16;

// How a character that may not stand as it is has to be written.
std::string escape_of(char32_t c) {
  switch (c) {
    case '"': return "\\\"";
    case '\\': return "\\\\";
    case '\b': return "\\b";
    case '\f': return "\\f";
    case '\n': return "\\n";
    case '\r': return "\\r";
    case '\t': return "\\t";
    default: {
      constexpr char kHex[] = "0123456789abcdef";
      return {'\\', 'u', '0', '0', kHex[(c >> 4) & 15], kHex[c & 15]};
    }
  }
}

}  // namespace

const CodePointSet& plain_string_chars() {
  static const CodePointSet plain = CodePointSet{{0, 0x1F}, {'"', '"'}, {'\\', '\\'}}.complement();
  return plain;
}

std::string json_quoted(std::string_view value) {
  std::string out = "\"";
  for (std::size_t i = 0; i < value.size();) {
    const text::Utf8Char c = text::decode_utf8(value, i);
    if (plain_string_chars().contains(c.cp)) text::append_utf8(out, c.cp);
    else out += escape_of(c.cp);
    i += c.length;
  }
  return out + "\"";
}

ExprId JsonRules::digits(std::int32_t min, std::int32_t max) { return tree_.repeat(tree_.chars({{'0', '9'}}), min, max); }

ExprId JsonRules::gap() {
  return named("gap", [&] {
    const ExprId indent = tree_.repeat(tree_.chars({{' ', ' '}, {'\t', '\t'}}), 0, kMostIndent);
    return tree_.optional(tree_.choice({tree_.literal(" "), tree_.sequence({tree_.literal("\n"), indent})}));
  });
}

ExprId JsonRules::any_char() {
  return named("char", [&] {
    const CodePointSet hex_set{{'0', '9'}, {'a', 'f'}, {'A', 'F'}}, d{{'d', 'd'}, {'D', 'D'}};
    const auto chars = [&](const CodePointSet& s) { return tree_.chars(s); };
    const auto hex = [&](std::int32_t n) { return tree_.repeat(chars(hex_set), n, n); };
    // \uHHHH, where the two halves of a surrogate pair only come together.
    const ExprId pair = tree_.sequence({chars(d), chars({{'8', '9'}, {'a', 'b'}, {'A', 'B'}}), hex(2), tree_.literal("\\u"), chars(d),
                                        chars({{'c', 'f'}, {'C', 'F'}}), hex(2)});
    const ExprId unit =
        tree_.choice({tree_.sequence({chars(hex_set.without(d)), hex(3)}), tree_.sequence({chars(d), chars({{'0', '7'}}), hex(2)}), pair});
    const ExprId escape =
        tree_.choice({chars({{'"', '"'}, {'\\', '\\'}, {'/', '/'}, {'b', 'b'}, {'f', 'f'}, {'n', 'n'}, {'r', 'r'}, {'t', 't'}}),
                      tree_.sequence({tree_.literal("u"), unit})});
    return tree_.choice({chars(plain_string_chars()), tree_.sequence({tree_.literal("\\"), escape})});
  });
}

ExprId JsonRules::quoted(ExprId content) { return tree_.sequence({tree_.literal("\""), content, tree_.literal("\"")}); }
ExprId JsonRules::string_literal(std::string_view value) { return tree_.literal(json_quoted(value)); }
ExprId JsonRules::string_of(std::int32_t min, std::int32_t max) { return quoted(tree_.repeat(any_char(), min, max)); }
ExprId JsonRules::any_string() {
  return named("string", [&] { return string_of(0, kUnlimited); });
}

ExprId JsonRules::encoded(const CodePointSet& set) {
  std::vector<ExprId> ways;
  const CodePointSet plain = set.intersect(plain_string_chars());
  if (!plain.empty()) ways.push_back(tree_.chars(plain));
  const CodePointSet others = set.without(plain_string_chars());
  for (const CodePointSet::Range& r : others.ranges())
    for (char32_t c = r.lo; c <= r.hi; ++c) ways.push_back(tree_.literal(escape_of(c)));
  return tree_.choice(std::move(ways));
}

ExprId JsonRules::integer() {
  return named("integer", [&] {
    const ExprId nonzero = tree_.sequence({tree_.optional(tree_.literal("-")), tree_.chars({{'1', '9'}}), digits(0, kMostDigits - 1)});
    return tree_.choice({tree_.literal("0"), nonzero});
  });
}

ExprId JsonRules::number() {
  return named("number", [&] {
    const ExprId whole = tree_.choice({tree_.literal("0"), tree_.sequence({tree_.chars({{'1', '9'}}), digits(0, kMostDigits - 1)})});
    const ExprId fraction = tree_.optional(tree_.sequence({tree_.literal("."), digits(1, kMostDigits)}));
    // Two digits of exponent: 1e999 is no number that a reader could hold.
    const ExprId exponent = tree_.optional(
        tree_.sequence({tree_.chars({{'e', 'e'}, {'E', 'E'}}), tree_.optional(tree_.chars({{'+', '+'}, {'-', '-'}})), digits(1, 2)}));
    return tree_.sequence({tree_.optional(tree_.literal("-")), whole, fraction, exponent});
  });
}

ExprId JsonRules::boolean() {
  return named("boolean", [&] { return tree_.choice({tree_.literal("true"), tree_.literal("false")}); });
}
ExprId JsonRules::null() { return tree_.literal("null"); }

ExprId JsonRules::comma() { return tree_.sequence({tree_.literal(","), gap()}); }

ExprId JsonRules::bracketed(std::string_view open, ExprId content, std::string_view close) {
  return tree_.sequence({tree_.literal(open), gap(), content, gap(), tree_.literal(close)});
}

ExprId JsonRules::any_array() {
  return named("array", [&] {
    const ExprId more = tree_.repeat(tree_.sequence({comma(), any_value()}), 0, kUnlimited);
    const ExprId filled = bracketed("[", tree_.sequence({any_value(), more}), "]");
    return tree_.choice({tree_.literal("[]"), filled});
  });
}

ExprId JsonRules::any_object() {
  return named("object", [&] {
    const ExprId member = tree_.sequence({any_string(), tree_.literal(":"), tree_.optional(tree_.literal(" ")), any_value()});
    const ExprId more = tree_.repeat(tree_.sequence({comma(), member}), 0, kUnlimited);
    return tree_.choice({tree_.literal("{}"), bracketed("{", tree_.sequence({member, more}), "}")});
  });
}

ExprId JsonRules::any_value() {
  return named("value", [&] { return tree_.choice({any_object(), any_array(), any_string(), number(), boolean(), null()}); });
}

}  // namespace hz::engine
