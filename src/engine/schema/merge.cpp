// SPDX-License-Identifier: Apache-2.0
// Two schemas that must both hold, as one.
#include <algorithm>
#include <set>

#include "src/engine/schema/keywords.hpp"

namespace hz::engine {
namespace {

constexpr std::size_t kMostWays = 256, kMostPairs = 10'000'000;

Json both(const Json& a, const Json& b) {
  if (a == b || (b.is_boolean() && b.get<bool>())) return a;
  if (a.is_boolean() && a.get<bool>()) return b;
  return Json{{"allOf", Json::array({a, b})}};
}

Json merge_types(const Json& a, const Json& b) {
  Json result = Json::array();
  const auto covers = [](const std::string& wide, const std::string& narrow) { return wide == narrow || (wide == "number" && narrow == "integer"); };
  for (const std::string& x : types_of(a))
    for (const std::string& y : types_of(b)) {
      if (covers(x, y)) result.push_back(y);
      else if (covers(y, x)) result.push_back(x);
    }
  return result;  // empty: nothing is of both types
}

Json merge_enums(const Json& a, const Json& b, const std::string& path) {
  if (a.size() * b.size() > kMostPairs) fail_schema(true, path, "two enumerations of " + std::to_string(a.size()) + " and " + std::to_string(b.size()) + " values have to hold at once");
  Json result = Json::array();
  for (const Json& x : a)
    if (std::find(b.begin(), b.end(), x) != b.end()) result.push_back(x);
  return result;
}

// A property that only one side names is an additional one to the other, where that says what those are.
void restrict_to_other(Json& properties, const Json& own, const Json& other) {
  if (!other.contains("additionalProperties") || !own.contains("properties")) return;
  for (const auto& [name, schema] : own["properties"].items())
    if (!other.contains("properties") || !other["properties"].contains(name)) properties[name] = both(properties[name], other["additionalProperties"]);
}

void merge_properties(Json& result, const Json& a, const Json& b) {
  Json properties = a.contains("properties") ? a["properties"] : Json::object();
  if (b.contains("properties"))
    for (const auto& [name, schema] : b["properties"].items()) properties[name] = properties.contains(name) ? both(properties[name], schema) : schema;
  restrict_to_other(properties, a, b);
  restrict_to_other(properties, b, a);
  if (a.contains("properties") || b.contains("properties")) result["properties"] = std::move(properties);
  if (a.contains("additionalProperties") && b.contains("additionalProperties")) result["additionalProperties"] = both(a["additionalProperties"], b["additionalProperties"]);
  else if (b.contains("additionalProperties")) result["additionalProperties"] = b["additionalProperties"];
}

Json merge_any_of(const Json& a, const Json& b, const std::string& path) {
  if (a.size() * b.size() > kMostWays) fail_schema(true, path, "the alternatives of anyOf multiply to more than " + std::to_string(kMostWays));
  Json result = Json::array();
  for (const Json& x : a)
    for (const Json& y : b) result.push_back(both(x, y));
  return result;
}

Json merge_required(const Json& a, const Json& b) {
  Json result = a;
  std::set<std::string> names;
  for (const Json& name : a) names.insert(name.get<std::string>());
  for (const Json& name : b)
    if (names.insert(name.get<std::string>()).second) result.push_back(name);
  return result;
}

}  // namespace

Json merge_schemas(const Json& a, const Json& b, const std::string& path) {
  if (a.is_boolean()) return a.get<bool>() ? b : a;
  if (b.is_boolean()) return b.get<bool>() ? a : b;
  Json result = a;
  merge_properties(result, a, b);
  for (const auto& [key, value] : b.items()) {
    if (key == "properties" || key == "additionalProperties") continue;
    if (!a.contains(key)) {
      result[key] = value;
      continue;
    }
    Json& mine = result[key];
    if (mine == value || is_annotation(key)) continue;
    if (key == "type") {
      mine = merge_types(a, b);
      if (mine.empty()) result["enum"] = Json::array(), result.erase("type");
    }
    else if (key == "enum") mine = merge_enums(mine, value, path);
    else if (key == "required") mine = merge_required(mine, value);
    else if (key == "anyOf") mine = merge_any_of(mine, value, path);
    else if (key == "items" && mine.is_array() == value.is_array() && !mine.is_array()) mine = both(mine, value);
    else if (key == "const") result["enum"] = Json::array();  // two values at once: nothing
    else if (key.substr(0, 3) == "min" || key == "exclusiveMinimum") mine = std::max(mine, value);
    else if (key.substr(0, 3) == "max" || key == "exclusiveMaximum") mine = std::min(mine, value);
    else if (key == "uniqueItems") mine = mine.get<bool>() || value.get<bool>();
    else fail_schema(true, path, "two different values of '" + key + "' have to hold at once, which is not built");
  }
  return result;
}

}  // namespace hz::engine
