// SPDX-License-Identifier: Apache-2.0
// Generator: prompts in chunks, limits, finish reasons, seeds; on a tiny model without a tokenizer.
#include "hanzo/engine/generator.hpp"
#include "tests/catch.hpp"
#include "tests/model/tiny_model.hpp"
#include "tests/temp_dir.hpp"

using namespace hz;
using namespace hz::test;

namespace {

struct Fixture {
  TempDir dir;
  Model model = load({});
  Model load(LoadOptions options) const {
    TinyModel(TinySpec{.type = WType::q4_0}).write(dir.path() / "m.gguf");
    return Model::load(dir.path() / "m.gguf", options);
  }
  static std::vector<std::int32_t> run(Generator& gen, std::vector<std::int32_t> ids, const GenerateOptions& options) {
    Generation g = gen.generate(std::move(ids), options);
    while (g.next()) {}
    return g.ids();
  }
};

}  // namespace

TEST_CASE_METHOD(Fixture, "a model without a tokenizer runs on ids; text calls say what is missing", "[engine]") {
  Generator gen(model);
  CHECK_FALSE(gen.has_tokenizer());
  CHECK(run(gen, {1, 2, 3}, {.max_tokens = 5, .temperature = 0}).size() == 5);
  CHECK_THROWS_AS(gen.complete("hi"), Error);
  CHECK_THROWS_AS(gen.chat({{"user", "hi"}}), Error);
}

TEST_CASE_METHOD(Fixture, "the answer does not depend on how the prompt was cut or what was asked before", "[engine]") {
  const std::vector<std::int32_t> prompt{5, 9, 2, 40, 33, 7, 7, 1, 60, 12, 3};
  std::vector<std::int32_t> want;
  for (const std::int64_t ubatch : {1, 2, 5, 64}) {
    Generator gen(model, {.ubatch = ubatch});
    const auto first = run(gen, prompt, {.max_tokens = 12, .temperature = 0});
    run(gen, {1, 1, 1}, {.max_tokens = 3});
    const auto again = run(gen, prompt, {.max_tokens = 12, .temperature = 0});
    if (want.empty()) want = first;
    CHECK(first == want);
    CHECK(again == want);
  }
}

TEST_CASE_METHOD(Fixture, "a printed seed reproduces the text, another seed gives another", "[engine]") {
  Generator gen(model);
  Generation g = gen.generate({1, 2, 3}, {.max_tokens = 20});
  while (g.next()) {}
  CHECK(run(gen, {1, 2, 3}, {.max_tokens = 20, .seed = g.seed()}) == g.ids());
  CHECK(run(gen, {1, 2, 3}, {.max_tokens = 20, .seed = g.seed() + 1}) != g.ids());
}

TEST_CASE_METHOD(Fixture, "a full context ends with length; a prompt that does not fit is an error with both numbers", "[engine]") {
  const Model small = load({.context = 8});
  Generator gen(small);
  Generation g = gen.generate({1, 2, 3, 4, 5}, {.temperature = 0});
  while (g.next()) {}
  CHECK(g.finish_reason() == FinishReason::length);
  CHECK(g.ids().size() == 3);
  Generation full = gen.generate({1, 2, 3, 4, 5, 6, 7, 8}, {.temperature = 0});
  CHECK_FALSE(full.next());
  CHECK(full.finish_reason() == FinishReason::length);
  try {
    gen.generate(std::vector<std::int32_t>(9, 1), {});
    FAIL("no error");
  } catch (const Error& e) {
    const std::string what = e.what();
    CHECK(what.find("9 tokens") != std::string::npos);
    CHECK(what.find(" 8") != std::string::npos);
  }
}

TEST_CASE_METHOD(Fixture, "no tokens asked for evaluates the prompt alone; an empty prompt is an error", "[engine]") {
  Generator gen(model);
  Generation g = gen.generate({1, 2}, {.max_tokens = 0});
  CHECK_FALSE(g.next());
  CHECK(g.ids().empty());
  CHECK(g.stats().prompt_tokens == 2);
  CHECK(g.finish_reason() == FinishReason::length);
  Generation none = gen.generate({}, {});
  CHECK_THROWS_AS(none.next(), Error);
  Generation outside = gen.generate({1, 100000}, {});
  CHECK_THROWS_AS(outside.next(), Error);
}

TEST_CASE_METHOD(Fixture, "a stop request ends between tokens and inside a prompt", "[engine]") {
  Generator gen(model, {.ubatch = 1});
  std::stop_source stop;
  Generation g = gen.generate({1, 2, 3}, {.temperature = 0, .stop = stop.get_token()});
  REQUIRE(g.next());
  stop.request_stop();
  CHECK_FALSE(g.next());
  CHECK(g.finish_reason() == FinishReason::interrupted);
  Generation before = gen.generate({1, 2, 3}, {.stop = stop.get_token()});
  CHECK_FALSE(before.next());
  CHECK(before.finish_reason() == FinishReason::interrupted);
}

TEST_CASE_METHOD(Fixture, "poison in a weight is refused at load; in the logits it names layer and position", "[engine]") {
  const Model narrow = load({.kv = KvKind::f32});
  auto kv = narrow.new_sequence();
  // An embedding row that overflows in the norm cannot come from a checked file, so the cache is poisoned by hand.
  const std::vector<std::int32_t> ids{1, 2, 3};
  const SequenceChunk chunk{&kv, ids};
  narrow.forward({&chunk, 1});
  auto* page = reinterpret_cast<float*>(const_cast<std::byte*>(kv.pages()[0]));
  page[0] = NAN;
  const std::vector<std::int32_t> more{4};
  const SequenceChunk next{&kv, more};
  try {
    narrow.forward({&next, 1});
    FAIL("no error");
  } catch (const Error& e) {
    CHECK(e.kind() == ErrorKind::numeric);
    CHECK(std::string(e.what()).find("layer 0 at position 3") != std::string::npos);
  }
  CHECK(kv.length() == 3);
}
