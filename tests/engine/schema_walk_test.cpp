// SPDX-License-Identifier: Apache-2.0
// Random texts through the masks of many schemas, checked by an independent JSON Schema validator.
#include <nlohmann/json.hpp>
#include <random>
#include <string>

#include "hanzo/core/error.hpp"
#include "tests/catch.hpp"
#include "tests/engine/json_walk.hpp"
#include "hanzo/text/utf8.hpp"

#if HZ_HAVE_VALIJSON
#include <valijson/adapters/nlohmann_json_adapter.hpp>
#include <valijson/schema.hpp>
#include <valijson/schema_parser.hpp>
#include <valijson/validator.hpp>
#endif

using namespace hz;

namespace {

// Only keywords that the validator knows (draft 7).
const char* const kSchemas[] = {
    R"({"type":"object","properties":{"name":{"type":"string","minLength":1,"maxLength":12},"age":{"type":"integer","minimum":0,"maximum":150},"tags":{"type":"array","items":{"type":"string","maxLength":5},"minItems":1,"maxItems":4}},"required":["name","age"],"additionalProperties":false})",
    R"({"type":"array","items":{"type":"object","properties":{"id":{"type":"integer"},"value":{"type":["number","null","boolean"]}},"required":["id"]},"maxItems":5})",
    R"({"definitions":{"node":{"type":"object","properties":{"left":{"$ref":"#/definitions/node"},"value":{"type":"number","exclusiveMinimum":-10.5,"maximum":1000.25},"right":{"$ref":"#/definitions/node"}},"required":["value"],"additionalProperties":false}},"$ref":"#/definitions/node"})",
    R"({"type":"object","properties":{"kind":{"enum":["a","b",3,null,{"x":[1,2]}]},"name":{"const":"the"},"id":{"type":"string","pattern":"^[a-f]{2,4}(-[0-9]+)?$"}},"additionalProperties":{"type":"integer"},"required":["kind","id"]})",
    R"({"oneOf":[{"type":"object","properties":{"kind":{"const":"aa"},"value":{"type":"integer"}},"required":["kind","value"]},{"type":"object","properties":{"kind":{"const":"bb"},"name":{"type":"string"}},"required":["kind"]},{"type":"null"}]})",
    R"({"allOf":[{"type":"object","properties":{"age":{"type":"integer","minimum":3}},"required":["age"]},{"properties":{"name":{"type":"string","maxLength":3}},"required":["name"]},{"properties":{"age":{"maximum":12}}}]})",
    R"({"type":"object","additionalProperties":{"type":"array","items":{"type":"boolean"},"maxItems":3},"minProperties":1,"maxProperties":3})",
    R"({"type":"array","items":[{"type":"integer","minimum":-5,"maximum":17},{"type":"string"},{"type":"number","minimum":0.25,"maximum":0.75}],"additionalItems":{"type":"null"},"minItems":2,"maxItems":6})",
    R"({"type":"object","properties":{"name":{},"age":{"type":"number","minimum":-1e-3,"exclusiveMaximum":2e2},"na":{"type":"string","pattern":"ab"},"me":{"type":"object"}}})",
    R"({"type":"string","pattern":"^(\\d{4}-(0[1-9]|1[0-2])|none)$"})",
    R"({"anyOf":[{"type":"integer","minimum":10,"maximum":99},{"type":"array","items":{"type":"array","items":{"type":"number"},"minItems":2,"maxItems":2}},{"type":"string","minLength":20,"maxLength":22}]})",
    R"({"type":"object","properties":{"name":{"type":"object","properties":{"first":{"type":"string"},"last":{"type":"string"}},"additionalProperties":true},"id":{"type":"string","pattern":"^\\w+ [a-z!-/]$"}},"required":["name","id","extra"]})",
    "{}",
    R"({"type":["object","array"]})",
};

}  // namespace

TEST_CASE("texts drawn through the masks of a schema are valid JSON and valid under it", "[engine]") {
#if HZ_HAVE_VALIJSON
  const auto table = test::json_table();
  std::mt19937 random(71);
  std::size_t longest = 0;
  for (const char* text : kSchemas) {
    INFO(text);
    const auto document = nlohmann::json::parse(text);
    valijson::Schema schema;
    valijson::SchemaParser parser;
    const valijson::adapters::NlohmannJsonAdapter schema_adapter(document);
    parser.populateSchema(schema_adapter, schema);
    const GrammarState start(Grammar::from_json_schema(text), table);
    std::set<std::string> different;
    for (int run = 0; run < 60; ++run) {
      const std::string written = test::random_text(start, random);
      INFO(written);
      different.insert(written);
      longest = std::max(longest, written.size());
      CHECK(text::is_valid_utf8(written));
      nlohmann::json value;
      REQUIRE_NOTHROW(value = nlohmann::json::parse(written));
      valijson::Validator validator;
      const valijson::adapters::NlohmannJsonAdapter value_adapter(value);
      CHECK(validator.validate(schema, value_adapter, nullptr));
    }
    CHECK(different.size() > 5);
  }
  CHECK(longest > 100);
#else
  HZ_SKIP("valijson is not installed");
#endif
}

TEST_CASE("two schemas at once are both kept, whatever they are made of, or refused", "[engine]") {
#if HZ_HAVE_VALIJSON
  const char* const parts[] = {
      R"({"type":"string"})",
      R"({"type":"integer"})",
      R"({"type":["number","null"]})",
      R"({"type":"array"})",
      R"({"type":"object"})",
      R"({"enum":["a",1,null,[1],{"a":1}]})",
      R"({"enum":["a","aa",2.5]})",
      R"({"const":1})",
      R"({"const":"a"})",
      R"({"const":2,"enum":[7]})",
      R"({"type":"integer","enum":["a",1]})",
      R"({"type":"boolean","enum":[1]})",
      R"({"minLength":2,"maxLength":3})",
      R"({"type":"string","maxLength":1})",
      R"({"minimum":1,"exclusiveMaximum":9})",
      R"({"type":"number","maximum":1})",
      R"({"type":"array","items":{"type":"integer"},"maxItems":3})",
      R"({"type":"array","items":[{"type":"string"},{"type":"null"}],"maxItems":3})",
      R"({"items":[{"type":"integer"}],"additionalItems":false,"type":"array"})",
      R"({"type":"array","items":[{}],"additionalItems":{"type":"integer"},"maxItems":3})",
      R"({"type":"array","minItems":2,"maxItems":2})",
      R"({"type":"object","properties":{"a":{"type":"integer"}},"required":["a"]})",
      R"({"type":"object","properties":{"a":{"minimum":3},"b":{"type":"null"}},"additionalProperties":false})",
      R"({"type":"object","properties":{"b":{"type":"string","maxLength":3}},"additionalProperties":{"type":"integer"}})",
      R"({"type":"object","required":["b"]})",
      R"({"anyOf":[{"type":"integer"},{"type":"string","maxLength":3}]})",
      R"({"anyOf":[{"type":"array","items":{"type":"null"},"maxItems":2},{"const":"a"}]})",
      R"({"allOf":[{"type":["integer","string"]},{"type":["string","null"],"maxLength":2}]})",
      "true",
      "false"};
  const auto table = test::json_table();
  std::mt19937 random(72);
  int accepted = 0, refused = 0;
  for (const std::string a : parts) {
    for (const std::string b : parts) {
      const std::string both = "{\"allOf\":[" + a + "," + b + "]}";
      INFO(both);
      std::shared_ptr<const Grammar> grammar;
      try {
        grammar = Grammar::from_json_schema(both);
      } catch (const Error& e) {
        CHECK((e.kind() == ErrorKind::usage || e.kind() == ErrorKind::unsupported));
        ++refused;
        continue;
      }
      ++accepted;
      const auto document = nlohmann::json::parse(both);
      valijson::Schema schema;
      valijson::SchemaParser parser;
      const valijson::adapters::NlohmannJsonAdapter schema_adapter(document);
      parser.populateSchema(schema_adapter, schema);
      const GrammarState start(grammar, table);
      for (int run = 0; run < 6; ++run) {
        const std::string written = test::random_text(start, random);
        INFO(written);
        const auto value = nlohmann::json::parse(written);
        valijson::Validator validator;
        CHECK(validator.validate(schema, valijson::adapters::NlohmannJsonAdapter(value), nullptr));
      }
    }
  }
  CHECK(accepted > 200);
  CHECK(refused > 200);
#else
  HZ_SKIP("valijson is not installed");
#endif
}

TEST_CASE("the validator used here does refuse", "[engine]") {
#if HZ_HAVE_VALIJSON
  const auto document = nlohmann::json::parse(kSchemas[0]);
  valijson::Schema schema;
  valijson::SchemaParser parser;
  parser.populateSchema(valijson::adapters::NlohmannJsonAdapter(document), schema);
  const auto bad = nlohmann::json::parse(R"({"name":"x","age":151})");
  valijson::Validator validator;
  CHECK_FALSE(validator.validate(schema, valijson::adapters::NlohmannJsonAdapter(bad), nullptr));
#else
  HZ_SKIP("valijson is not installed");
#endif
}
