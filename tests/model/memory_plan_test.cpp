// SPDX-License-Identifier: Apache-2.0
// Memory is predicted before it is taken; a context that does not fit names the largest that does.
#include "hanzo/model/memory_plan.hpp"

#include <cmath>

#include "hanzo/core/error.hpp"
#include "hanzo/core/memory.hpp"
#include "hanzo/model/model.hpp"
#include "tests/catch.hpp"
#include "tests/model/tiny_model.hpp"
#include "tests/temp_dir.hpp"

using namespace hz;
using namespace hz::test;

namespace {

std::string hint_of(const model::MemoryPlan& plan, std::uint64_t available) {
  try {
    model::check_memory(plan, available);
  } catch (const Error& e) {
    CHECK(e.kind() == ErrorKind::out_of_memory);
    return e.hint();
  }
  return "fits";
}

}  // namespace

TEST_CASE("a plan that does not fit names the largest context that does", "[model]") {
  const model::MemoryPlan plan{.context = 1000, .weights = 5000, .work = 1000, .position = 10};
  CHECK(plan.total() == 16000);
  CHECK(hint_of(plan, 16000) == "fits");
  CHECK(hint_of(plan, 15999).find("-c 960)") != std::string::npos);
  CHECK(hint_of(plan, 6000 + 640).find("-c 64)") != std::string::npos);
  CHECK(hint_of(plan, 6000 + 639).find("smaller model") != std::string::npos);
  CHECK(hint_of(plan, 0).find("smaller model") != std::string::npos);
}

TEST_CASE("loading refuses a context beyond the memory before it allocates it, and the named one loads", "[model]") {
  const TempDir dir;
  const auto file = dir.path() / "m.gguf";
  TinyModel({}).write(file);
  const model::MemoryPlan plan = Model::load(file, {.threads = 1}).memory_plan();
  const std::uint64_t limit = plan.weights + plan.work + 128 * plan.position;
  try {
    Model::load(file, {.threads = 1, .context = std::int64_t{1} << 31, .memory_limit = limit});
    FAIL("a context of 2^31 positions was taken");
  } catch (const Error& e) {
    CHECK(e.kind() == ErrorKind::out_of_memory);
    CHECK(e.hint().find("-c 128)") != std::string::npos);
  }
  CHECK(Model::load(file, {.threads = 1, .context = 128, .memory_limit = limit}).context() == 128);
}

TEST_CASE("weights that are read count beside their panels, mapped ones without panels not at all", "[model]") {
  const TempDir dir;
  const auto file = dir.path() / "m.gguf";
  TinyModel({}).write(file);
  const auto weights = [&](bool pack, io::ReadMode mode) {
    return Model::load(file, {.threads = 1, .pack = pack, .read_mode = mode}).memory_plan().weights;
  };
  const std::uint64_t once = weights(true, io::ReadMode::map);
  CHECK(once > 0);
  CHECK(weights(false, io::ReadMode::map) == 0);
  CHECK(weights(false, io::ReadMode::read) == once);
  CHECK(weights(true, io::ReadMode::read) == 2 * once);
}

TEST_CASE("what panels of codebook weights add is planned: as much as is allowed, and no more than there is", "[model]") {
  const TempDir dir;
  const auto file = dir.path() / "m.gguf";
  TinyModel({.hidden = 256, .ff = 256, .head_dim = 32, .type = WType::iq3_xxs}).write(file);
  const auto weights = [&](double expand, bool pack = true) {
    return Model::load(file, {.threads = 1, .pack = pack, .expand = expand}).memory_plan().weights;
  };
  const io::Gguf gguf = io::Gguf::open(file);
  std::uint64_t bytes = 0, grown = 0;
  for (const io::GgufTensor& t : gguf.tensors()) {
    bytes += t.nbytes;
    if (t.type == WType::iq3_xxs) grown += t.nbytes / 98 * (16 * 8 + 2 + 4 - 98);  // 4 bits a weight, a half, eight nibbles
  }
  REQUIRE(grown > bytes / 10);
  CHECK(weights(0) == gguf.total_bytes());
  CHECK(weights(0.1) == gguf.total_bytes() + bytes / 10);
  CHECK(weights(2) == gguf.total_bytes() + grown);
  CHECK(weights(HUGE_VAL) == gguf.total_bytes() + grown);
  CHECK(weights(2, false) == 0);
  CHECK_THROWS_AS(weights(-0.5), Error);
  CHECK_THROWS_AS(weights(std::nan("")), Error);
  CHECK(model::expansion(WType::q4_k, 144) == 0);
  CHECK(model::expansion(WType::iq1_s, 50) == 256 * 3 / 8 + 2 + 4 - 50);
  CHECK(model::expansion(WType::iq2_s, 82) == 256 * 3 / 8 + 2 + 8 - 82);
}

TEST_CASE("the memory that is left is known and not zero", "[core]") {
  CHECK(available_memory() > (std::uint64_t{16} << 20));
  CHECK(available_memory() < (std::uint64_t{1} << 50));
}
