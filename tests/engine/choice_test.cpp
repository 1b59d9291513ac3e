// SPDX-License-Identifier: Apache-2.0
// Multiple choice and saved base logits: equal to plain sums over forward passes, and refused where they cannot be meant.
#include "hanzo/engine/choice.hpp"

#include "hanzo/engine/evaluate.hpp"
#include "hanzo/engine/generator.hpp"
#include "src/engine/log_sum.hpp"
#include "tests/catch.hpp"
#include "tests/errors.hpp"
#include "tests/model/tiny_chat.hpp"
#include "tests/model/tiny_model.hpp"
#include "tests/temp_dir.hpp"

using namespace hz;
using namespace hz::test;

namespace {

// Sum of the log-probabilities of ids from position `from` on, in one pass of its own.
double plain_score(const Model& model, const std::vector<std::int32_t>& ids, std::size_t from) {
  auto kv = model.new_sequence();
  const SequenceChunk chunk{&kv, ids};
  const Tensor logits = model.forward({&chunk, 1}, LogitRows::all);
  double sum = 0;
  for (std::size_t i = from; i < ids.size(); ++i) {
    const Tensor row = logits.row(static_cast<std::int64_t>(i) - 1);
    sum += static_cast<double>(row.span<const float>()[static_cast<std::size_t>(ids[i])]) - log_sum(row.span<const float>());
  }
  return sum;
}

Generator tiny_generator(const std::filesystem::path& folder) {
  write_tiny_chat(folder / "chat.gguf");
  return Generator(Model::load(folder / "chat.gguf", {.threads = 1}));
}

}  // namespace

TEST_CASE("choices are scored like each text alone", "[engine]") {
  const TempDir dir;
  const Generator gen = tiny_generator(dir.path());
  const std::string text = "hello wor";
  const std::vector<std::string> choices{"ld", "l", "d hello", "'s"};
  const ChoiceScores s = score_choices(gen.model(), gen.tokenizer(), text, choices);
  REQUIRE(s.log_prob.size() == choices.size());
  const auto alone = gen.tokenizer().encode(text);
  std::size_t shared = alone.size();
  for (const std::string& c : choices) {
    const auto ids = gen.tokenizer().encode(text + c);
    shared =
        std::min(shared, static_cast<std::size_t>(std::mismatch(alone.begin(), alone.end(), ids.begin(), ids.end()).first - alone.begin()));
  }
  for (std::size_t i = 0; i < choices.size(); ++i) {
    CHECK(s.log_prob[i] == plain_score(gen.model(), gen.tokenizer().encode(text + choices[i]), shared));
    CHECK(s.per_byte[i] == s.log_prob[i] / static_cast<double>(choices[i].size()));
    CHECK(s.log_prob[s.best] >= s.log_prob[i]);
    CHECK(s.per_byte[s.best_per_byte] >= s.per_byte[i]);
  }
}

TEST_CASE("choices that cannot be meant are refused", "[engine]") {
  const TempDir dir;
  const Generator gen = tiny_generator(dir.path());
  const auto score = [&](std::string_view text, std::vector<std::string> choices) {
    return error_of_call([&] { score_choices(gen.model(), gen.tokenizer(), text, choices); }).kind();
  };
  CHECK(score("hello", {"a"}) == ErrorKind::usage);
  CHECK(score("hello", {"a", ""}) == ErrorKind::usage);
  CHECK(score("", {"a", "b"}) == ErrorKind::usage);
}

TEST_CASE("agreement with saved logits equals agreement with the model itself", "[engine]") {
  const TempDir dir;
  TinyModel({.type = WType::q4_0}).write(dir.path() / "m.gguf");
  const Model base = Model::load(dir.path() / "m.gguf", {.activations = nn::Activations::f32});
  const Model other = Model::load(dir.path() / "m.gguf");
  const auto ids = some_ids(70, 80);
  const EvaluateOptions o{.window = 32, .ubatch = 8};
  const auto file = dir.path() / "base.gguf";
  save_base_logits(base, ids, file, o);
  const Agreement direct = agreement(base, other, ids, o), saved = agreement_with(file, other, ids, o);
  CHECK(direct.scored == 2 * 15);
  CHECK(saved.scored == direct.scored);
  CHECK(saved.kl_mean == direct.kl_mean);
  CHECK(saved.top1 == direct.top1);
  CHECK(agreement_with(file, base, ids, o).kl_mean == 0);
  CHECK(error_of_call([&] { agreement_with(file, other, some_ids(71, 79), o); }).kind() == ErrorKind::bad_file);
  CHECK(error_of_call([&] { agreement_with(file, other, ids, {.window = 16}); }).kind() == ErrorKind::bad_file);
  CHECK(error_of_call([&] { agreement_with(dir.path() / "m.gguf", other, ids, o); }).kind() == ErrorKind::bad_file);
}
