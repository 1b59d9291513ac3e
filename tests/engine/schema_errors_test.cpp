// SPDX-License-Identifier: Apache-2.0
// JSON Schema: what cannot be enforced, cannot be meant or cannot hold is refused, by its path.
#include <string>

#include "hanzo/core/error.hpp"
#include "hanzo/engine/grammar.hpp"
#include "tests/catch.hpp"
#include "tests/engine/tables.hpp"

using namespace hz;

namespace {

void refuse(const std::string& schema, ErrorKind kind, const std::string& what, const std::string& where = "schema #") {
  INFO(schema.substr(0, 300));
  try {
    Grammar::from_json_schema(schema);
    FAIL_CHECK("accepted");
  } catch (const Error& e) {
    CHECK_THAT(std::string(e.what()), Catch::Matchers::Contains(what));
    CHECK_THAT(e.where(), Catch::Matchers::Contains(where));
    CHECK(e.kind() == kind);
  }
}
constexpr auto kUsage = ErrorKind::usage, kUnsupported = ErrorKind::unsupported;

std::string nested(const std::string& open, const std::string& inner, const std::string& close, int n) {
  std::string s;
  for (int i = 0; i < n; ++i) s += open;
  s += inner;
  for (int i = 0; i < n; ++i) s += close;
  return s;
}

}  // namespace

TEST_CASE("schema: keywords that would not be enforced are refused by path", "[engine]") {
  for (const char* keyword :
       {"not", "if", "then", "else", "patternProperties", "propertyNames", "contains", "minContains", "dependentRequired",
        "dependentSchemas", "unevaluatedProperties", "unevaluatedItems", "$dynamicRef", "nullable", "nosuch"})
    refuse(R"({"type":"object","properties":{"a":{")" + std::string(keyword) + R"(":{}}}})", kUnsupported,
           std::string("'") + keyword + "' is not built", std::string("schema #/properties/a/") + keyword);
  refuse(R"({"type":"array","uniqueItems":true})", kUnsupported, "uniqueItems", "#/uniqueItems");
  CHECK_NOTHROW(Grammar::from_json_schema(R"({"type":"array","uniqueItems":false})"));
  refuse(R"({"type":"string","format":"nosuch"})", kUnsupported, "format 'nosuch'", "#/format");
  refuse(R"({"type":"number","multipleOf":0.3})", kUnsupported, "multipleOf", "#/multipleOf");
  refuse(R"({"type":"integer","multipleOf":7})", kUnsupported, "multipleOf", "#/multipleOf");
  refuse(R"({"type":"integer","multipleOf":0})", kUnsupported, "multipleOf");
  refuse(R"({"type":"number","multipleOf":-1})", kUnsupported, "multipleOf");
  refuse(R"({"type":"string","pattern":"a","format":"date"})", kUnsupported, "pattern and format together");
  refuse(R"({"type":"string","pattern":"^a*$","maxLength":3})", kUnsupported, "next to pattern");
  refuse(R"({"enum":["a"],"pattern":"b"})", kUnsupported, "next to enum", "#/pattern");
  refuse(R"({"type":"object","properties":{"a":{}},"additionalProperties":true,"maxProperties":3})", kUnsupported, "maxProperties",
         "#/maxProperties");
  refuse(R"({"type":"object","minProperties":3})", kUnsupported, "minProperties");
  refuse(R"({"$ref":"https://example.org/x.json"})", kUnsupported, "leads out of this document");
  refuse(R"({"$ref":"other.json#/a"})", kUnsupported, "leads out of this document");
  refuse(R"({"$ref":"#name"})", kUnsupported, "anchor");
  refuse(R"({"allOf":[{"pattern":"a"},{"pattern":"b"}]})", kUnsupported, "two different values of 'pattern'");
}

TEST_CASE("schema: patterns outside the subset are refused", "[engine]") {
  const auto pattern = [](const std::string& p) { return R"({"type":"string","pattern":")" + p + R"("})"; };
  for (const char* p : {"(?=a)", "(?!a)", "(?<=a)b", "(?<!a)b", "(?i)a", "(a)\\\\1", "\\\\bword", "\\\\B", "\\\\p{L}", "\\\\k<n>", "a^b",
                        "(^a)", "(a$)", "a$b", "\\\\q"})
    refuse(pattern(p), kUnsupported, "not built", "#/pattern");
  for (const char* p : {"(", ")", "[", "[b-a]", "*", "a**", "a{2}{3}", "a{3,2}", "(?<n", "\\\\x4", "\\\\u12", "\\\\u{110000}", "\\\\",
                        "[^\\\\s\\\\S]", "\\\\ud800", "a{99999999}"})
    refuse(pattern(p), kUsage, "the pattern", "#/pattern");
  refuse(pattern(nested("(", "a", ")", 1000)), kUsage, "nests groups");
  refuse(pattern(std::string(100'000, 'a')), kUsage, "64 KiB");
  CHECK_NOTHROW(Grammar::from_json_schema(pattern("^a{,3}b{x}]}$")));
}

TEST_CASE("schema: what cannot be meant is refused by path", "[engine]") {
  refuse(R"({"type":"nosuch"})", kUsage, "no type 'nosuch'", "#/type");
  refuse(R"({"properties":{"a":{"items":{"type":"strin"}}}})", kUsage, "no type 'strin'", "#/properties/a/items/type");
  refuse(R"({"enum":["a"],"type":"nosuch"})", kUsage, "no type 'nosuch'");
  refuse(R"({"type":5})", kUsage, "'type' must be", "#/type");
  refuse(R"({"type":[]})", kUsage, "'type' must be");
  refuse(R"({"minLength":-1})", kUsage, "'minLength' must be");
  refuse(R"({"minLength":1.5})", kUsage, "'minLength' must be");
  refuse(R"({"maxItems":"3"})", kUsage, "'maxItems' must be");
  refuse(R"({"exclusiveMinimum":true})", kUsage, "'exclusiveMinimum' must be");
  refuse(R"({"properties":[]})", kUsage, "'properties' must be");
  refuse(R"({"properties":{"a":1}})", kUsage, "'properties' must be");
  refuse(R"({"required":"a"})", kUsage, "'required' must be");
  refuse(R"({"anyOf":[]})", kUsage, "empty array", "#/anyOf");
  refuse(R"({"anyOf":{}})", kUsage, "'anyOf' must be");
  refuse(R"({"type":"array","items":5})", kUsage, "'items' must be a schema");
  refuse(R"({"$ref":"#/$defs/missing"})", kUsage, "leads nowhere");
  refuse(R"({"$ref":"#/anyOf/7","anyOf":[{}]})", kUsage, "leads nowhere");
  refuse("5", kUsage, "a schema must be");
  refuse("[]", kUsage, "a schema must be");
  refuse("\"a\"", kUsage, "a schema must be");
  refuse("", kUsage, "not JSON");
  refuse("{", kUsage, "not JSON");
  refuse("{\"a\":\"\xFF\"}", kUsage, "not JSON");
  refuse("{} x", kUsage, "not JSON");
}

TEST_CASE("schema: contradictions are refused by path", "[engine]") {
  const char* nothing = "nothing is valid";
  refuse("false", kUsage, nothing);
  refuse(R"({"type":"string","minLength":5,"maxLength":3})", kUsage, nothing);
  refuse(R"({"type":"integer","minimum":5,"maximum":4})", kUsage, nothing);
  refuse(R"({"type":"integer","minimum":1.2,"maximum":1.8})", kUsage, nothing);
  refuse(R"({"type":"number","exclusiveMinimum":1,"maximum":1})", kUsage, nothing);
  refuse(R"({"type":"array","minItems":3,"maxItems":2})", kUsage, nothing);
  refuse(R"({"type":"array","items":false,"minItems":1})", kUsage, nothing);
  refuse(R"({"type":"array","prefixItems":[false],"minItems":1})", kUsage, nothing);
  refuse(R"({"enum":[]})", kUsage, nothing);
  refuse(R"({"type":"string","enum":[1,2]})", kUsage, nothing);
  refuse(R"({"const":1,"enum":[2]})", kUsage, nothing);
  refuse(R"({"allOf":[{"type":"string"},{"type":"integer"}]})", kUsage, nothing);
  refuse(R"({"allOf":[{"const":1},{"const":2}]})", kUsage, nothing);
  refuse(R"({"allOf":[{"type":"string"},{"type":"integer","enum":["a"]}]})", kUsage, "exclude each other");
  refuse(R"({"allOf":[{"const":1},{"const":2,"enum":[2]}]})", kUsage, "exclude each other");
  for (const char* ways : {R"({"type":"integer"},{"type":"number"})", R"({"const":1},{"const":1,"title":"one"})", R"({},{"type":"string"})",
                           R"({"type":"string","maxLength":3},{"type":["null","string"]})", R"(true,{"const":1})",
                           R"({"$ref":"#/$defs/a"},{"type":"null"})"}) {
    const std::string one_of = std::string("{\"oneOf\":[") + ways + R"(],"$defs":{"a":{"type":"null","enum":[null]}}})";
    refuse(one_of, kUsage, "of oneOf too", "/oneOf/");
    refuse(R"({"allOf":[)" + one_of + R"(,{"minLength":1}],"$defs":{"a":{"type":"null"}}})", kUsage, "of oneOf too", "/oneOf/");
  }
  CHECK_NOTHROW(
      Grammar::from_json_schema(R"({"oneOf":[{"type":"integer","minimum":3},{"type":"number","maximum":2},{"type":"string"},false]})"));
  refuse(R"({"type":"string","pattern":"^a{5}$","maxLength":3})", kUsage, nothing);
  refuse(R"({"type":"string","format":"uuid","minLength":50})", kUsage, nothing);
  refuse(R"({"type":"object","properties":{"a":{"type":"integer"}},"required":["b"],"additionalProperties":false})", kUsage,
         "'b' is none of the properties");
  refuse(R"({"type":"object","properties":{"a":false},"required":["a"]})", kUsage, "'a' can have no value");
  refuse(R"({"type":"object","properties":{"a":{}},"required":["a"],"maxProperties":0})", kUsage, nothing);
  refuse(R"({"type":"object","properties":{"a":{}},"minProperties":2})", kUsage, nothing);
  refuse(R"({"type":"object","additionalProperties":false,"minProperties":1})", kUsage, nothing);
  refuse(R"({"anyOf":[{"type":"string"},{"type":"null"}],"type":"integer"})", kUsage, "no alternative of anyOf");
  refuse(R"({"type":"object","properties":{"x":{"type":"array","items":{"type":"string","minLength":2,"maxLength":1}}}})", kUsage, nothing,
         "#/properties/x/items");
}

TEST_CASE("schema: texts without end are refused", "[engine]") {
  refuse(R"({"$ref":"#"})", kUsage, "left recursion");
  refuse(R"({"$ref":"#/$defs/a","$defs":{"a":{"$ref":"#/$defs/b"},"b":{"$ref":"#/$defs/a"}}})", kUsage, "left recursion");
  refuse(R"({"type":"object","properties":{"a":{"$ref":"#"}},"required":["a"]})", kUsage, "can never end");
  refuse(R"({"type":"array","items":{"$ref":"#"},"minItems":1})", kUsage, "can never end");
  refuse(R"({"allOf":[{"$ref":"#"}],"type":"object"})", kUsage, "contains itself");
  refuse(R"({"$ref":"#/$defs/a","type":"object","$defs":{"a":{"$ref":"#/$defs/a","type":"object"}}})", kUsage, "contains itself");
}

TEST_CASE("schema: hostile sizes end in an error, soon", "[engine]") {
  refuse(nested(R"({"items":)", "{}", "}", 10'000), kUsage, "nested more than 256 deep");
  refuse(nested("[", "", "]", 1'000'000), kUsage, "nested more than 256 deep");
  refuse(nested(R"({"anyOf":[)", "{}", "]}", 120), kUsage, "nested more than 200 deep");
  refuse(R"({"type":"array","items":{"type":"array","items":{"type":"integer"},"maxItems":1000},"minItems":900000})", kUsage, "too large",
         "grammar");
  refuse(std::string(5'000'000, ' ') + "{}", kUsage, "4 MiB");
  std::string ways = "{\"allOf\":[";
  for (int i = 0; i < 20; ++i) ways += R"({"anyOf":[{"minimum":)" + std::to_string(i) + R"(},{"maximum":3}]},)";
  refuse(ways + "{}]}", kUnsupported, "multiply");
  std::string members = "{\"enum\":[{";
  for (int i = 0; i < 300'000; ++i) members += (i > 0 ? ",\"" : "\"") + std::to_string(i) + "\":1";
  refuse(members + "}]}", kUsage, "more than 5000 members");
  std::string values;
  for (int i = 0; i < 50'000; ++i) values += (i > 0 ? ",\"v" : "\"v") + std::to_string(i) + "\"";
  refuse(R"({"allOf":[{"enum":[)" + values + R"(,0]},{"enum":[)" + values + R"(]}]})", kUnsupported, "two enumerations");
  GrammarState state(Grammar::from_json_schema(R"({"enum":[)" + values + "]}"), test::byte_table());
  CHECK(state.accept_text("\"v49999\""));
  CHECK(state.is_final());
  // Many properties, optional and required, and long names, are fine.
  for (const char* required : {"[]", R"(["p4999"])", R"(["p0"])"}) {
    std::string wide = R"({"type":"object","properties":{)";
    for (int i = 0; i < 5'000; ++i) wide += (i > 0 ? ",\"p" : "\"p") + std::to_string(i) + R"(":{"type":"integer"})";
    CHECK_NOTHROW(Grammar::from_json_schema(wide + R"(},"additionalProperties":false,"required":)" + required + "}"));
  }
  CHECK_NOTHROW(
      Grammar::from_json_schema(R"({"type":"object","properties":{")" + std::string(5'000, 'k') + R"(":{}},"additionalProperties":true})"));
  CHECK_NOTHROW(Grammar::from_json_schema(R"({"type":"string","maxLength":100000000000})"));
}
