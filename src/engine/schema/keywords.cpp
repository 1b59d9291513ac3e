// SPDX-License-Identifier: Apache-2.0
// Reading a schema's text and checking its keywords.
#include "src/engine/schema/keywords.hpp"

#include <algorithm>
#include <array>

#include "hanzo/core/error.hpp"
#include "src/engine/grammar/tree.hpp"
#include "src/io/message.hpp"

namespace hz::engine {
namespace {

constexpr std::size_t kMostBytes = std::size_t{4} << 20;
constexpr std::size_t kMostNesting = 256, kMostMembers = 5000;

enum class Wants : std::uint8_t { anything, schema, schemas, schema_map, string, strings, number, count, boolean, types, array };

struct Keyword {
  std::string_view name, about;  // about: the type whose values it restricts
  Wants wants;
};
constexpr std::array kEnforced{Keyword{"type", "", Wants::types},
                               Keyword{"enum", "", Wants::array},
                               Keyword{"const", "", Wants::anything},
                               Keyword{"$ref", "", Wants::string},
                               Keyword{"allOf", "", Wants::schemas},
                               Keyword{"anyOf", "", Wants::schemas},
                               Keyword{"oneOf", "", Wants::schemas},
                               Keyword{"minLength", "string", Wants::count},
                               Keyword{"maxLength", "string", Wants::count},
                               Keyword{"pattern", "string", Wants::string},
                               Keyword{"format", "string", Wants::string},
                               Keyword{"minimum", "number", Wants::number},
                               Keyword{"maximum", "number", Wants::number},
                               Keyword{"exclusiveMinimum", "number", Wants::number},
                               Keyword{"exclusiveMaximum", "number", Wants::number},
                               Keyword{"multipleOf", "number", Wants::number},
                               Keyword{"items", "array", Wants::anything},
                               Keyword{"prefixItems", "array", Wants::schemas},
                               Keyword{"additionalItems", "array", Wants::schema},
                               Keyword{"minItems", "array", Wants::count},
                               Keyword{"maxItems", "array", Wants::count},
                               Keyword{"uniqueItems", "array", Wants::boolean},
                               Keyword{"properties", "object", Wants::schema_map},
                               Keyword{"required", "object", Wants::strings},
                               Keyword{"additionalProperties", "object", Wants::schema},
                               Keyword{"minProperties", "object", Wants::count},
                               Keyword{"maxProperties", "object", Wants::count}};
constexpr std::array<std::string_view, 20> kAnnotations{
    "title", "description", "default", "examples", "example", "deprecated", "readOnly", "writeOnly", "$comment", "$schema",
    "$id", "id", "$defs", "definitions", "$anchor", "$vocabulary", "contentEncoding", "contentMediaType", "contentSchema", "discriminator"};

constexpr std::array<std::string_view, 7> kTypes{"string", "number", "integer", "boolean", "null", "array", "object"};

bool is_schema(const Json& v) { return v.is_object() || v.is_boolean(); }

bool fits(const Json& v, Wants wants) {
  const auto all = [&](auto&& test) { return std::all_of(v.begin(), v.end(), test); };
  switch (wants) {
    case Wants::anything: return true;
    case Wants::schema: return is_schema(v);
    case Wants::schemas: return v.is_array() && all(is_schema);
    case Wants::schema_map: return v.is_object() && all(is_schema);
    case Wants::string: return v.is_string();
    case Wants::strings: return v.is_array() && all([](const Json& x) { return x.is_string(); });
    case Wants::number: return v.is_number();
    case Wants::count:
      return v.is_number() && v.get<double>() >= 0 &&
             v.get<double>() == static_cast<double>(static_cast<std::int64_t>(std::min(v.get<double>(), 1e15)));
    case Wants::boolean: return v.is_boolean();
    case Wants::types: return v.is_string() || (v.is_array() && !v.empty() && all([](const Json& x) { return x.is_string(); }));
    case Wants::array: return v.is_array();
  }
  return false;
}

std::string_view wanted(Wants wants) {
  switch (wants) {
    case Wants::schema: return "a schema (an object, true or false)";
    case Wants::schemas: return "an array of schemas";
    case Wants::schema_map: return "an object of schemas";
    case Wants::string: return "a string";
    case Wants::strings: return "an array of strings";
    case Wants::number: return "a number";
    case Wants::count: return "a whole number, 0 or more";
    case Wants::boolean: return "true or false";
    case Wants::types: return "the name of a type or an array of such";
    case Wants::array: return "an array";
    case Wants::anything: break;
  }
  return "a value";
}

}  // namespace

void fail_schema(bool unsupported, const std::string& path, const std::string& what, const std::string& hint) {
  throw Error(unsupported ? ErrorKind::unsupported : ErrorKind::usage, what, "schema " + path, hint);
}

std::string step(const std::string& path, std::string_view key) {
  std::string out = path + "/";
  for (const char c : key) {
    if (c == '~') out += "~0";
    else if (c == '/') out += "~1";
    else out += c;
  }
  return out;
}

Json parse_schema_text(std::string_view text) {
  if (text.size() > kMostBytes) fail_schema(false, "#", "the schema is longer than 4 MiB");
  // Checked before the parser sees it: depth, and the members of one object, whose look-up by name is linear.
  std::vector<std::size_t> members{0};
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') ++i;
      else if (c == '"') in_string = false;
    } else if (c == '"') {
      in_string = true;
    } else if (c == '{' || c == '[') {
      members.push_back(0);
      if (members.size() > kMostNesting)
        fail_schema(false, "#", "the schema is nested more than " + std::to_string(kMostNesting) + " deep",
                    "name inner parts under $defs and refer to them");
    } else if ((c == '}' || c == ']') && members.size() > 1) {
      members.pop_back();
    } else if (c == ':' && ++members.back() > kMostMembers) {
      fail_schema(false, "#", "an object of the schema has more than " + std::to_string(kMostMembers) + " members");
    }
  }
  try {
    return Json::parse(text);
  } catch (const nlohmann::json::exception& e) {
    fail_schema(false, "#", "the schema is not JSON: " + io::json_reason(e.what(), true));
  }
}

bool is_annotation(std::string_view keyword) {
  return std::find(kAnnotations.begin(), kAnnotations.end(), keyword) != kAnnotations.end() || keyword.substr(0, 2) == "x-";
}

std::string_view type_of_keyword(std::string_view keyword) {
  for (const Keyword& k : kEnforced)
    if (k.name == keyword) return k.about;
  return {};
}

Items items_of(const Json& schema) {
  const auto at = [&](const char* key) { return schema.contains(key) ? &schema[key] : nullptr; };
  if (const Json* items = at("items"); items != nullptr && items->is_array())
    return {items, at("additionalItems"), "items", "additionalItems"};
  return {at("prefixItems"), at("items")};
}

void check_keywords(const Json& schema, const std::string& path) {
  for (const auto& [name, value] : schema.items()) {
    if (is_annotation(name)) continue;
    const auto known =
        std::find_if(kEnforced.begin(), kEnforced.end(), [&, key = std::string_view(name)](const Keyword& k) { return k.name == key; });
    if (known == kEnforced.end())
      fail_schema(true, step(path, name), "the keyword '" + name + "' is not built: it would not be enforced",
                  "leave it out, or check it after generation");
    if (!fits(value, known->wants)) fail_schema(false, step(path, name), "'" + name + "' must be " + std::string(wanted(known->wants)));
    if (known->wants == Wants::schemas && value.empty()) fail_schema(false, step(path, name), "'" + name + "' is an empty array");
  }
  for (const std::string& type : types_of(schema))
    if (std::find(kTypes.begin(), kTypes.end(), type) == kTypes.end())
      fail_schema(false, step(path, "type"), "there is no type '" + type + "'",
                  "types are string, number, integer, boolean, null, array, object");
  if (schema.contains("items") && schema["items"].is_array() && schema.contains("prefixItems"))
    fail_schema(false, step(path, "items"), "'items' is a list, as in older drafts, next to 'prefixItems', which takes its place");
  if (schema.contains("uniqueItems") && schema["uniqueItems"].get<bool>())
    fail_schema(true, step(path, "uniqueItems"), "uniqueItems is not built: it would not be enforced",
                "leave it out, or check it after generation");
}

std::vector<std::string> types_of(const Json& schema) {
  if (!schema.contains("type")) return {};
  const Json& t = schema["type"];
  if (t.is_string()) return {t.get<std::string>()};
  std::vector<std::string> names;
  for (const Json& name : t) names.push_back(name.get<std::string>());
  return names;
}

int count_of(const Json& schema, const char* keyword, int fallback, const std::string& path) {
  if (!schema.contains(keyword)) return fallback;
  const double n = schema[keyword].get<double>();
  if (n > kMostRepeats) {
    if (std::string_view(keyword).substr(0, 3) == "max") return kUnlimited == fallback ? kMostRepeats : fallback;
    fail_schema(true, step(path, keyword), std::string(keyword) + " is more than " + std::to_string(kMostRepeats));
  }
  return static_cast<int>(n);
}

}  // namespace hz::engine
