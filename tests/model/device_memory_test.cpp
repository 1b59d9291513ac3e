// SPDX-License-Identifier: Apache-2.0
// A backend with a memory of its own runs a model: nothing in the core, the ops or the decoder follows its addresses.
#include "hanzo/autograd/tape.hpp"
#include "hanzo/model/kv_state.hpp"
#include "tests/catch.hpp"
#include "tests/errors.hpp"
#include "tests/model/far_backend.hpp"
#include "tests/model/tiny_model.hpp"
#include "tests/temp_dir.hpp"

using namespace hz;
using namespace hz::test;

namespace {

std::vector<float> logits(const Model& model, const std::vector<std::int32_t>& ids, LogitRows rows) {
  auto kv = model.new_sequence();
  const SequenceChunk first{&kv, std::span(ids).first(3)}, rest{&kv, std::span(ids).subspan(3)};
  model.forward({&first, 1}, LogitRows::none);
  const Tensor y = model.forward({&rest, 1}, rows);
  return {y.span<float>().begin(), y.span<float>().end()};
}

template <class F>
std::string error_of(F&& f) {
  return error_of_call(f).what();
}

std::vector<std::int32_t> some_ids(int n) {
  std::vector<std::int32_t> ids;
  for (int i = 0; i < n; ++i) ids.push_back(i * 7 % 80);
  return ids;
}

}  // namespace

TEST_CASE("a device whose memory the host cannot read gives the logits of the CPU backend", "[model][device]") {
  const TempDir dir;
  const auto file = dir.path() / "m.gguf";
  TinySpec spec;
  spec.type = GENERATE(WType::f32, WType::q8_0);
  SECTION("dense") { spec.biases = true; }
  SECTION("experts") {
    spec.experts = 4;
    spec.experts_used = 2;
  }
  SECTION("norms of heads, a window") {
    spec.arch = "gemma3";
    spec.qk_norm = spec.post_norm = spec.tied = true;
    spec.window = 16;
  }
  TinyModel(spec).write(file);
  const auto far = std::make_shared<FarBackend>();
  const Model here = Model::load(file, {.threads = 1}), there = Model::load(file, {.backend = far});
  CHECK(&there.backend() == far.get());
  const std::vector<std::int32_t> ids = some_ids(100);
  CHECK(logits(there, ids, LogitRows::all) == logits(here, ids, LogitRows::all));
  CHECK(logits(there, ids, LogitRows::last) == logits(here, ids, LogitRows::last));
  CHECK(far->copies > 0);
}

TEST_CASE("pages of a device's memory are shared, copied on write and saved as those of the host", "[model][device]") {
  const TempDir dir;
  const auto file = dir.path() / "m.gguf";
  TinyModel({}).write(file);
  const auto far = std::make_shared<FarBackend>();
  const Model here = Model::load(file, {.threads = 1}), there = Model::load(file, {.backend = far});
  const std::vector<std::int32_t> ids = some_ids(130);
  const auto saved = [&](const Model& model) {
    auto kv = model.new_sequence();
    const SequenceChunk chunk{&kv, ids};
    model.forward({&chunk, 1}, LogitRows::none);
    auto branch = kv;  // shares the pages; what it writes must not be seen in kv
    branch.truncate(100);
    const SequenceChunk other{&branch, std::span(ids).first(20)};
    model.forward({&other, 1}, LogitRows::none);
    std::vector<std::byte> bytes;
    CHECK(model::write_pages(kv, kv.length(),
                             [&](std::span<const std::byte> page) { bytes.insert(bytes.end(), page.begin(), page.end()); }) == 2);
    return bytes;
  };
  const auto a = saved(here), b = saved(there);
  CHECK(a == b);
  auto restored = model::read_pages(there, b);
  CHECK(restored.length() == 128);
  const SequenceChunk end{&restored, std::span(ids).subspan(128)};
  const Tensor y = there.forward({&end, 1});
  const std::vector<float> last(y.span<float>().begin(), y.span<float>().end());
  CHECK(last == logits(here, ids, LogitRows::last));
}

TEST_CASE("what a backend cannot do is said before the work begins", "[model][device]") {
  const TempDir dir;
  const auto file = dir.path() / "m.gguf";
  TinyModel({}).write(file);
  CHECK(error_of([&] { Model::load(file, {.device = "stub"}); }).find("the stub backend cannot run a model") == 0);
  TinySpec wide;
  wide.head_dim = 32;
  TinyModel(wide).write(dir.path() / "wide.gguf");
  const auto far = std::make_shared<FarBackend>();
  CHECK(error_of([&] {
          Model::load(dir.path() / "wide.gguf", {.backend = far, .kv = KvKind::q8_0});
        }).find("the far backend has no KV cache of this kind") == 0);
  const Model model = Model::load(file, {.backend = far});
  const std::vector<std::int32_t> ids{1, 2, 3};
  const Tape tape;
  CHECK(error_of([&] { model.forward(ids); }).find("the far backend has no gradients") == 0);
}

TEST_CASE("the stub lacks memory and ops by name", "[model][device]") {
  const auto stub = make_backend("stub");
  CHECK_FALSE(stub->on_host());
  CHECK(stub->capabilities().kv.empty());
  CHECK(error_of([&] { Tensor::empty({2}, DType::f32, stub->device()); }).find("[allocate] is not built for the stub backend") == 0);
}

TEST_CASE("a tensor moves to a device and back by copies, and only by them", "[model][device]") {
  FarBackend far;
  const Tensor a = Tensor::from(std::vector<float>{1, 2, 3, 4}, {2, 2});
  const Tensor b = a.to(far.device());
  CHECK(error_of([&] { (void)b.data<float>(); }).find("copy it to the host first") != std::string::npos);
  CHECK(error_of([&] { (void)a.on(far.device()); }).find("not in the device's memory") != std::string::npos);
  const Tensor c = b.clone().to({});
  CHECK(std::vector<float>(c.span<float>().begin(), c.span<float>().end()) == std::vector<float>{1, 2, 3, 4});
  CHECK(b.slice(0, 1, 2).slice(1, 0, 1).reshape({1}).item() == 3);
  CHECK(Tensor::zeros({1}, DType::f32, far.device()).item() == 0);
  CHECK(a.to({}).raw() == a.raw());  // no copy where none is needed
}
