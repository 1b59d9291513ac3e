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
  const auto covers = [](const std::string& wide, const std::string& narrow) {
    return wide == narrow || (wide == "number" && narrow == "integer");
  };
  for (const std::string& x : types_of(a))
    for (const std::string& y : types_of(b)) {
      if (covers(x, y)) result.push_back(y);
      else if (covers(y, x)) result.push_back(x);
    }
  return result;  // empty: nothing is of both types
}

Json merge_enums(const Json& a, const Json& b, const std::string& path) {
  if (a.size() * b.size() > kMostPairs)
    fail_schema(true, path,
                "two enumerations of " + std::to_string(a.size()) + " and " + std::to_string(b.size()) + " values have to hold at once");
  Json result = Json::array();
  for (const Json& x : a)
    if (std::find(b.begin(), b.end(), x) != b.end()) result.push_back(x);
  return result;
}

// A property that only one side names is an additional one to the other, where that says what those are.
void restrict_to_other(Json& properties, const Json& own, const Json& other) {
  if (!other.contains("additionalProperties") || !own.contains("properties")) return;
  for (const auto& [name, schema] : own["properties"].items())
    if (!other.contains("properties") || !other["properties"].contains(name))
      properties[name] = both(properties[name], other["additionalProperties"]);
}

void merge_properties(Json& result, const Json& a, const Json& b) {
  Json properties = a.contains("properties") ? a["properties"] : Json::object();
  if (b.contains("properties"))
    for (const auto& [name, schema] : b["properties"].items())
      properties[name] = properties.contains(name) ? both(properties[name], schema) : schema;
  restrict_to_other(properties, a, b);
  restrict_to_other(properties, b, a);
  if (a.contains("properties") || b.contains("properties")) result["properties"] = std::move(properties);
  if (a.contains("additionalProperties") && b.contains("additionalProperties"))
    result["additionalProperties"] = both(a["additionalProperties"], b["additionalProperties"]);
  else if (b.contains("additionalProperties")) result["additionalProperties"] = b["additionalProperties"];
}

// Place by place: what has no place on one side is one of its rest there.
void merge_items(Json& result, const Json& a, const Json& b) {
  const Items x = items_of(a), y = items_of(b);
  const auto count = [](const Items& i) { return i.places != nullptr ? i.places->size() : 0; };
  const auto rest = [](const Items& i) { return i.rest != nullptr ? *i.rest : Json(true); };
  const auto place = [&](const Items& i, std::size_t n) { return n < count(i) ? (*i.places)[n] : rest(i); };
  Json places = Json::array();
  for (std::size_t n = 0; n < std::max(count(x), count(y)); ++n) places.push_back(both(place(x, n), place(y, n)));
  for (const char* key : {"items", "additionalItems", "prefixItems"}) result.erase(key);
  if (!places.empty()) result["prefixItems"] = std::move(places);
  if (x.rest != nullptr || y.rest != nullptr) result["items"] = both(rest(x), rest(y));
}

Json merge_any_of(const Json& a, const Json& b, const std::string& path) {
  if (a.size() * b.size() > kMostWays)
    fail_schema(true, path, "the alternatives of anyOf multiply to more than " + std::to_string(kMostWays));
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
  merge_items(result, a, b);
  for (const auto& [key, value] : b.items()) {
    if (key == "properties" || key == "additionalProperties" || key == "items" || key == "prefixItems" || key == "additionalItems")
      continue;
    if (!a.contains(key)) {
      result[key] = value;
      continue;
    }
    Json& mine = result[key];
    if (mine == value || is_annotation(key)) continue;
    if (key == "type") {
      mine = merge_types(a, b);
      if (mine.empty()) return false;
    }
    else if (key == "const") return false;  // two values at once
    else if (key == "enum") mine = merge_enums(mine, value, path);
    else if (key == "required") mine = merge_required(mine, value);
    else if (key == "anyOf") mine = merge_any_of(mine, value, path);
    else if (key.substr(0, 3) == "min" || key == "exclusiveMinimum") mine = std::max(mine, value);
    else if (key.substr(0, 3) == "max" || key == "exclusiveMaximum") mine = std::min(mine, value);
    else if (key == "uniqueItems") mine = mine.get<bool>() || value.get<bool>();
    else fail_schema(true, path, "two different values of '" + key + "' have to hold at once, which is not built");
  }
  return result;
}

}  // namespace hz::engine
