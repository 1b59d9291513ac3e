// SPDX-License-Identifier: Apache-2.0
// Answers of a model under JSON Schemas, checked by an independent validator.
#include <nlohmann/json.hpp>

#include "hanzo/engine/generator.hpp"
#include "tests/catch.hpp"
#include "tests/model/tiny_chat.hpp"
#include "tests/temp_dir.hpp"

#if HZ_HAVE_VALIJSON
#include <valijson/adapters/nlohmann_json_adapter.hpp>
#include <valijson/schema.hpp>
#include <valijson/schema_parser.hpp>
#include <valijson/validator.hpp>
#endif

using namespace hz;
using namespace hz::test;

namespace {

// Bounded, so that a model of random weights comes to an end.
const char* const kSchemas[] = {
    R"({"type":"object","properties":{"name":{"type":"string","maxLength":8},"age":{"type":"integer","minimum":3,"maximum":120}},
        "required":["name","age"],"additionalProperties":false})",
    R"({"type":"array","items":{"enum":["red",1,null,{"a":[true]}]},"minItems":1,"maxItems":5})",
    R"({"type":"object","properties":{"id":{"type":"string","pattern":"^[a-f]{2,4}-[0-9]{1,3}$"},"x":{"type":"number","minimum":-1,"maximum":1},
        "deep":{"type":"object","properties":{"ok":{"type":"boolean"}},"required":["ok"],"additionalProperties":false}},
        "required":["id","x","deep"],"additionalProperties":false})",
    R"({"oneOf":[{"type":"null"},{"type":"integer","minimum":10,"maximum":99},{"type":"string","minLength":2,"maxLength":4}]})",
};

}  // namespace

TEST_CASE("a model's answers under a schema are whole, and valid for an independent checker", "[engine]") {
#if HZ_HAVE_VALIJSON
  const TempDir dir;
  write_tiny_chat(dir.path() / "m.gguf");
  Generator gen(Model::load(dir.path() / "m.gguf"));
  for (const char* text : kSchemas) {
    INFO(text);
    const auto document = nlohmann::json::parse(text);
    valijson::Schema schema;
    valijson::SchemaParser parser;
    parser.populateSchema(valijson::adapters::NlohmannJsonAdapter(document), schema);
    const auto grammar = Grammar::from_json_schema(text);
    for (std::uint64_t seed = 0; seed < 12; ++seed) {
      const float temperature = seed == 0 ? 0.0f : 1.5f;
      Generation g = gen.chat({{"user", "hi"}},
                              {.max_tokens = 400, .temperature = temperature, .seed = seed, .sampling = {.top_k = 0}, .grammar = grammar});
      while (g.next()) {
      }
      INFO(g.text());
      REQUIRE(g.finish_reason() == FinishReason::turn_end);
      nlohmann::json value;
      REQUIRE_NOTHROW(value = nlohmann::json::parse(g.text()));
      valijson::Validator validator;
      CHECK(validator.validate(schema, valijson::adapters::NlohmannJsonAdapter(value), nullptr));
    }
  }
#else
  HZ_SKIP("valijson is not installed");
#endif
}
