// SPDX-License-Identifier: Apache-2.0
// The forward pass obeys its stop token and leaves the sequence as it was; non-finite logits name their position.
#include "hanzo/model/model.hpp"

#include <limits>

#include "hanzo/engine/logits.hpp"
#include "tests/catch.hpp"
#include "tests/model/tiny_model.hpp"
#include "tests/temp_dir.hpp"

using namespace hz;
using namespace hz::test;

TEST_CASE("a stopped forward pass throws cancelled and leaves the sequence as it was", "[model]") {
  const TempDir dir;
  const auto file = dir.path() / "m.gguf";
  TinyModel({}).write(file);
  const Model model = Model::load(file, {.threads = 2});
  const std::vector<std::int32_t> ids{1, 2, 3, 4, 5, 6, 7};
  auto kv = model.new_sequence(), fresh = model.new_sequence();
  const SequenceChunk chunk{&kv, ids}, plain{&fresh, ids};
  std::stop_source source;
  source.request_stop();
  try {
    model.forward({&chunk, 1}, LogitRows::all, source.get_token());
    FAIL("it was not stopped");
  } catch (const Error& e) {
    CHECK(e.kind() == ErrorKind::cancelled);
  }
  CHECK(kv.length() == 0);
  const Tensor a = model.forward({&chunk, 1}, LogitRows::all), b = model.forward({&plain, 1}, LogitRows::all);
  const auto x = a.span<float>(), y = b.span<float>();
  CHECK(std::equal(x.begin(), x.end(), y.begin(), y.end()));
}

TEST_CASE("long work on logits obeys a stop request between its chunks", "[model]") {
  const TempDir dir;
  const auto file = dir.path() / "m.gguf";
  TinyModel({}).write(file);
  const Model model = Model::load(file, {.threads = 1});
  const std::vector<std::int32_t> ids(40, 3);
  std::stop_source source;
  Progress progress;
  progress.stop = source.get_token();
  progress.report = [&](std::string_view, std::uint64_t done, std::uint64_t) {
    if (done >= 8) source.request_stop();
  };
  CHECK_THROWS_AS(logits_hash(model, ids, 4, progress), Error);
  CHECK_THROWS_AS(write_logits(model, ids, 4, dir.path() / "x.npy", progress), Error);
  CHECK_FALSE(std::filesystem::exists(dir.path() / "x.npy"));
}
