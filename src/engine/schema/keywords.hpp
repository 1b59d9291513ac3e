// SPDX-License-Identifier: Apache-2.0
// The keywords of JSON Schema: which are enforced, which only describe, and how two schemas become one.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

namespace hz::engine {

using Json = nlohmann::ordered_json;  // keeps the order of properties

// Parses a schema: at most 4 MiB, nested at most 256 deep, at most 5,000 members in an object. Throws Error(usage) with line and column.
Json parse_schema_text(std::string_view text);

// Throws Error(unsupported) for the first keyword of the object that is not enforced and changes what is valid,
// naming path and keyword; Error(usage) for a keyword whose value has the wrong type.
void check_keywords(const Json& schema, const std::string& path);

// Describes without restricting: title, description, default, …
bool is_annotation(std::string_view keyword);
// Which of string, number, array, object a keyword is about; empty for others.
std::string_view type_of_keyword(std::string_view keyword);

// The names in `type`; empty when there is none.
std::vector<std::string> types_of(const Json& schema);

// The items of an array: schemas with a place of their own, then one for the rest. Older drafts write the places as a
// list in `items`. Not there: no places; null, any rest.
struct Items {
  const Json *places = nullptr, *rest = nullptr;
  const char *places_key = "prefixItems", *rest_key = "items";
};
Items items_of(const Json& schema);

// What is valid under both; false when no value can be, as for two types. Neither has $ref, allOf or oneOf at its top.
// Throws Error(unsupported) where two keywords cannot be joined. Bounds that contradict each other show when the result
// is compiled.
Json merge_schemas(const Json& a, const Json& b, const std::string& path);

// The value of a keyword that counts: 0 to 1,000,000.
int count_of(const Json& schema, const char* keyword, int fallback, const std::string& path);

[[noreturn]] void fail_schema(bool unsupported, const std::string& path, const std::string& what, const std::string& hint = {});

// One more step of a JSON pointer.
std::string step(const std::string& path, std::string_view key);

}  // namespace hz::engine
