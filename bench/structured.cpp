// SPDX-License-Identifier: Apache-2.0
// What a grammar costs: the share of decode time that masks and steps take, for a typical schema. Arguments: MODEL [SCHEMA.json].
#include <fmt/format.h>

#include <chrono>
#include <fstream>
#include <hanzo/hanzo.hpp>
#include <iterator>

namespace {

constexpr const char* kSchema = R"({
  "type": "object",
  "properties": {
    "name": {"type": "string", "minLength": 1, "maxLength": 40},
    "age": {"type": "integer", "minimum": 0, "maximum": 130},
    "email": {"type": "string", "format": "email"},
    "role": {"enum": ["admin", "editor", "viewer"]},
    "tags": {"type": "array", "items": {"type": "string", "maxLength": 20}, "minItems": 1, "maxItems": 4},
    "address": {
      "type": "object",
      "properties": {"street": {"type": "string", "maxLength": 40}, "city": {"type": "string", "maxLength": 30}, "zip": {"type": "string", "pattern": "^[0-9]{5}$"}},
      "required": ["street", "city", "zip"]
    },
    "active": {"type": "boolean"}
  },
  "required": ["name", "age", "email", "role", "tags", "address", "active"]
})";

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

void run(hz::Generator& gen, const char* what, const std::shared_ptr<const hz::Grammar>& grammar, std::uint64_t seed) {
  const double begin = now();
  hz::Generation g = gen.chat({{"user", "Describe a person of your choice as JSON."}},
                              {.max_tokens = 200, .temperature = 0.7f, .seed = seed, .grammar = grammar});
  const double prepared = now() - begin;
  while (g.next()) {
  }
  const hz::GenerationStats& s = g.stats();
  const auto n = static_cast<double>(s.generated_tokens);
  fmt::print("{:<12} {:4} tokens, {:7.3f} ms a token, grammar {:6.1f} us a token = {:5.2f} % of decode time; prepared in {:.1f} ms\n", what,
             s.generated_tokens, 1e3 * s.decode_seconds / (n - 1), 1e6 * s.grammar_seconds / n, 100 * s.grammar_seconds / s.decode_seconds,
             1e3 * prepared);
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc < 2) {
    fmt::print(stderr, "usage: hz-bench-structured MODEL [SCHEMA.json]\n");
    return 2;
  }
  std::string schema = kSchema;
  if (argc > 2) {
    std::ifstream in(argv[2], std::ios::binary);
    schema.assign(std::istreambuf_iterator<char>(in), {});
  }
  hz::Generator gen(hz::Model::load(argv[1]));
  double begin = now();
  const auto grammar = hz::Grammar::from_json_schema(schema);
  fmt::print("schema to grammar: {:.2f} ms\n", 1e3 * (now() - begin));
  run(gen, "no grammar", nullptr, 1);
  for (std::uint64_t seed = 1; seed <= 4; ++seed) run(gen, seed == 1 ? "first" : "again", grammar, seed);
} catch (const hz::Error& e) {
  fmt::print(stderr, "error: {}\n", e.what());
  return 1;
}
