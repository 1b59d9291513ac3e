// SPDX-License-Identifier: Apache-2.0
// Enumerations, strings and numbers of a schema.
#include <algorithm>

#include "hanzo/text/utf8.hpp"
#include "src/engine/schema/pattern.hpp"
#include "src/engine/schema/schema.hpp"

namespace hz::engine {
namespace {

bool is_of_type(const Json& v, const std::string& type) {
  if (type == "string") return v.is_string();
  if (type == "boolean") return v.is_boolean();
  if (type == "null") return v.is_null();
  if (type == "array") return v.is_array();
  if (type == "object") return v.is_object();
  if (type == "number") return v.is_number();
  if (type == "integer") {
    if (!v.is_number()) return false;
    const auto d = decimal_of(v.dump());
    return v.is_number_integer() || (d && d->fraction.empty());
  }
  return false;
}

std::size_t characters(const std::string& s) {
  std::size_t n = 0;
  for (std::size_t i = 0; i < s.size(); i += text::decode_utf8(s, i).length) ++n;
  return n;
}

// The tighter of two bounds from below (sign 1) or above (-1).
std::optional<Bound> tighter(const std::optional<Bound>& a, const std::optional<Bound>& b, int sign) {
  if (!a || !b) return a ? a : b;
  const int order = compare(a->value, b->value) * sign;
  if (order != 0) return order > 0 ? a : b;
  return a->exclusive ? a : b;
}

std::optional<Bound> bound_of(const Json& schema, const char* key, bool exclusive, const std::string& path) {
  if (!schema.contains(key)) return std::nullopt;
  const auto d = decimal_of(schema[key].dump());
  if (d) return Bound{*d, exclusive};
  const double x = schema[key].get<double>();
  const bool lower = std::string_view(key).find("inimum") != std::string_view::npos;
  if (lower ? x < -1 : x > 1) return std::nullopt;  // beyond every number that is written
  fail_schema(true, step(path, key), std::string(key) + " has over 60 digits");
}
std::optional<Bound> lower_bound(const Json& s, const std::string& path) {
  return tighter(bound_of(s, "minimum", false, path), bound_of(s, "exclusiveMinimum", true, path), 1);
}
std::optional<Bound> upper_bound(const Json& s, const std::string& path) {
  return tighter(bound_of(s, "maximum", false, path), bound_of(s, "exclusiveMaximum", true, path), -1);
}

bool within(const Json& value, const Json& schema, const std::string& path) {
  const auto v = decimal_of(value.dump());
  if (!v) return false;
  const auto lo = lower_bound(schema, path), hi = upper_bound(schema, path);
  const int from_lo = lo ? compare(*v, lo->value) : 1, from_hi = hi ? compare(*v, hi->value) : -1;
  return (from_lo > 0 || (from_lo == 0 && !lo->exclusive)) && (from_hi < 0 || (from_hi == 0 && !hi->exclusive));
}

// Does a value of an enumeration keep the other keywords? Those that would need a whole validator are refused.
bool keeps(const Json& value, const Json& schema, const std::string& path) {
  const std::vector<std::string> types = types_of(schema);
  if (!types.empty() && std::none_of(types.begin(), types.end(), [&](const std::string& t) { return is_of_type(value, t); })) return false;
  const std::string_view about = value.is_string()   ? "string"
                                 : value.is_number() ? "number"
                                 : value.is_array()  ? "array"
                                 : value.is_object() ? "object"
                                                     : "-";
  for (const auto& [key, wanted] : schema.items()) {
    if (type_of_keyword(key) != about) continue;
    const bool checked = key == "minLength" || key == "maxLength" || key == "minimum" || key == "maximum" || key == "exclusiveMinimum" ||
                         key == "exclusiveMaximum";
    if (!checked)
      fail_schema(true, step(path, key), "'" + key + "' next to enum or const is not built",
                  "enum and const say it all: leave the other out");
  }
  if (value.is_string()) {
    const auto n = static_cast<int>(std::min<std::size_t>(characters(value.get<std::string>()), kMostRepeats));
    const int max = count_of(schema, "maxLength", kUnlimited, path);
    return n >= count_of(schema, "minLength", 0, path) && (max == kUnlimited || n <= max);
  }
  return !value.is_number() || within(value, schema, path);
}

}  // namespace

ExprId SchemaCompiler::values(const Json& schema, const At& at) {
  Json candidates = schema.contains("enum") ? schema["enum"] : Json::array({schema["const"]});
  std::vector<ExprId> ways;
  for (const Json& v : candidates) {
    if (schema.contains("const") && v != schema["const"]) continue;
    if (keeps(v, schema, at.path)) ways.push_back(value_text(v));
  }
  if (ways.empty()) return nothing(at, "no value of enum or const keeps the other keywords");
  return tree_.choice(std::move(ways));
}

ExprId SchemaCompiler::value_text(const Json& value) {
  if (value.is_string()) return json_.string_literal(value.get_ref<const std::string&>());
  if (!value.is_array() && !value.is_object()) return tree_.literal(value.dump());
  const bool is_array = value.is_array();
  if (value.empty()) return tree_.literal(is_array ? "[]" : "{}");
  std::vector<ExprId> parts;
  for (const auto& [key, item] : value.items()) {
    if (!parts.empty()) parts.push_back(json_.comma());
    parts.push_back(is_array ? value_text(item) : named_member(key, value_text(item)));
  }
  return json_.bracketed(is_array ? "[" : "{", tree_.sequence(std::move(parts)), is_array ? "]" : "}");
}

ExprId SchemaCompiler::string(const Json& schema, const At& at) {
  const int min = count_of(schema, "minLength", 0, at.path), max = count_of(schema, "maxLength", kUnlimited, at.path);
  if (max != kUnlimited && min > max)
    return nothing(at, "minLength " + std::to_string(min) + " is more than maxLength " + std::to_string(max));
  if (schema.contains("pattern") && schema.contains("format"))
    fail_schema(true, at.path, "pattern and format together are not built", "leave one out");
  if (schema.contains("pattern")) return matching(schema, "pattern", min, max, at);
  if (schema.contains("format")) return matching(schema, "format", min, max, at);
  return min == 0 && max == kUnlimited ? json_.any_string() : json_.string_of(min, max);
}

ExprId SchemaCompiler::matching(const Json& schema, const char* key, int min, int max, const At& at) {
  const std::string path = step(at.path, key), value = schema[key].get<std::string>();
  std::string_view regex = value;
  if (std::string_view(key) == "format") {
    regex = format_pattern(value);
    if (regex.empty())
      fail_schema(true, path, "the format '" + value + "' is not built: it would not be enforced", "formats are " + known_formats());
  }
  const Pattern p = parse_pattern(json_, regex, "schema " + path);
  if (max != kUnlimited && p.least > max)
    return nothing(at,
                   std::string(key) + " needs at least " + std::to_string(p.least) + " characters, maxLength is " + std::to_string(max));
  if (p.most >= 0 && p.most < min)
    return nothing(at, std::string(key) + " has at most " + std::to_string(p.most) + " characters, minLength is " + std::to_string(min));
  const bool holds = p.least >= min && (max == kUnlimited || (p.most >= 0 && p.most <= max));
  if (!holds)
    fail_schema(true, at.path, std::string("minLength or maxLength next to ") + key + " is not built where it is the stricter",
                "put the length into the pattern, e.g. ^[a-z]{1,20}$");
  return json_.quoted(p.content);
}

ExprId SchemaCompiler::number(const Json& schema, bool whole, const At& at) {
  std::optional<Bound> lo = lower_bound(schema, at.path), hi = upper_bound(schema, at.path);
  int fraction = 16;
  if (schema.contains("multipleOf")) {
    const auto m = decimal_of(schema["multipleOf"].dump());
    const auto power = m ? m->fraction.find_last_not_of('0') : 0;  // 0.001: the one digit is the last
    const bool one = m && !m->negative && m->whole == "1" && m->fraction.empty();
    const bool tenth = m && !m->negative && m->whole == "0" && !m->fraction.empty() && m->fraction.back() == '1' &&
                       power == m->fraction.find_first_not_of('0');
    if (!one && !tenth) fail_schema(true, step(at.path, "multipleOf"), "multipleOf is built for 1, 0.1, 0.01 and so on only");
    fraction = one ? 0 : std::min(static_cast<int>(m->fraction.size()), 15);
  }
  const auto shown = [](const Bound& b) {
    return (b.value.negative ? "-" : "") + b.value.whole + (b.value.fraction.empty() ? "" : "." + b.value.fraction);
  };
  if (!lo && !hi && fraction == 16) return whole ? json_.integer() : json_.number();
  const ExprId result = whole || fraction == 0 ? integers_between(json_, lo, hi) : numbers_between(json_, lo, hi, fraction);
  if (result == kNoExpr)
    return nothing(at, std::string("no ") + (whole ? "integer" : "number") + " lies between " + (lo ? shown(*lo) : "-infinity") + " and " +
                           (hi ? shown(*hi) : "infinity"));
  return result;
}

}  // namespace hz::engine
