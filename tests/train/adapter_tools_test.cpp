// SPDX-License-Identifier: Apache-2.0
// Merging, exporting and comparing adapters.
#include "hanzo/train/adapter_tools.hpp"

#include <cmath>

#include "hanzo/autograd/tape.hpp"
#include "tests/catch.hpp"
#include "tests/model/tiny_model.hpp"
#include "tests/temp_dir.hpp"

using namespace hz;
using namespace hz::test;
using namespace hz::train;

namespace {

// An adapter that changes something: B is not zero. size: of its values.
Adapter some_adapter(const Model& model, float size, const nn::LoraOptions& options, std::uint64_t seed = 3) {
  const Adapter adapter = Adapter::create(model, options, Seed{seed});
  for (const Adapter::Target& t : adapter.targets()) {
    const auto b = t.lora.b.tensor().span<float>();
    for (std::size_t i = 0; i < b.size(); ++i) b[i] = size * (uniform(seed, 9, i) - 0.5f);
    t.lora.b.touch();
  }
  return adapter;
}
Adapter some_adapter(const Model& model, float size, nn::AdapterMethod method = nn::AdapterMethod::lora, std::uint64_t seed = 3) {
  return some_adapter(model, size, nn::LoraOptions{.rank = 4, .alpha = 8, .method = method}, seed);
}

Model write_and_load(const std::filesystem::path& file, const TinySpec& spec) {
  TinyModel(spec).write(file);
  return Model::load(file, {.activations = nn::Activations::f32});
}

double largest_difference(const Model& a, const Model& b) {
  const NoGrad off;
  const std::vector<std::int32_t> ids{1, 5, 9, 13, 2, 60};
  const Tensor x = a.forward(ids), y = b.forward(ids);
  double d = 0;
  for (std::int64_t i = 0; i < x.numel(); ++i)
    d = std::max(d, std::fabs(static_cast<double>(x.data<float>()[i]) - static_cast<double>(y.data<float>()[i])));
  return d;
}

}  // namespace

TEST_CASE("merged into a float base the model is base and adapter, for each method", "[train][adapter]") {
  const TempDir dir;
  const Model model = write_and_load(dir.path() / "m.gguf", {.type = WType::f32});
  for (const auto method : {nn::AdapterMethod::lora, nn::AdapterMethod::rslora, nn::AdapterMethod::dora}) {
    const Adapter adapter = some_adapter(model, 0.2f, method);
    const MergeReport r = merge_adapter(model, adapter, dir.path() / "merged.gguf");
    CHECK(r.survival > 0.999999);
    const Model merged = Model::load(dir.path() / "merged.gguf", {.activations = nn::Activations::f32});
    CHECK(largest_difference(merged, model.with_adapter(adapter)) < 2e-4);
    CHECK(largest_difference(merged, model) > 1e-2);
  }
}

TEST_CASE("a small change is lost in a quantized base: refused unless forced", "[train][adapter]") {
  const TempDir dir;
  const Model model = write_and_load(dir.path() / "m.gguf", {.type = WType::q4_0});
  const Adapter tiny = some_adapter(model, 1e-4f);
  try {
    merge_adapter(model, tiny, dir.path() / "merged.gguf");
    FAIL("accepted");
  } catch (const Error& e) {
    CHECK(std::string(e.what()).find("would survive") != std::string::npos);
  }
  CHECK_FALSE(std::filesystem::exists(dir.path() / "merged.gguf"));
  const MergeReport r = merge_adapter(model, tiny, dir.path() / "merged.gguf", {.force = true});
  CHECK(r.survival < 0.5);
  CHECK(std::filesystem::exists(dir.path() / "merged.gguf"));
  const Model wide = write_and_load(dir.path() / "w.gguf", {.type = WType::f16});
  CHECK(merge_adapter(wide, some_adapter(wide, 0.2f), dir.path() / "merged.gguf").survival > 0.99);
}

TEST_CASE("a GGUF LoRA says the same adapter, rslora's scale and patterns of ranks folded in", "[train][adapter]") {
  const TempDir dir;
  const Model model = write_and_load(dir.path() / "m.gguf", {.type = WType::q8_0});
  for (const auto method : {nn::AdapterMethod::lora, nn::AdapterMethod::rslora}) {
    const Adapter adapter = some_adapter(model, 0.2f, method);
    save_gguf_lora(adapter, model, dir.path() / "a.gguf");
    const Adapter back = Adapter::load(dir.path() / "a.gguf", model);
    REQUIRE(back.targets().size() == adapter.targets().size());
    CHECK(largest_difference(model.with_adapter(adapter), model.with_adapter(back)) < 1e-5);
    for (const AdapterDifference& d : compare_adapters(adapter, back)) CHECK(d.relative < 1e-6);
  }
  CHECK_THROWS_AS(save_gguf_lora(some_adapter(model, 0.2f, nn::AdapterMethod::dora), model, dir.path() / "d.gguf"), Error);
}

TEST_CASE("layers of alpha 0 have no effect in a GGUF LoRA either, where 0 would read as a scale of 1", "[train][adapter]") {
  const TempDir dir;
  const Model model = write_and_load(dir.path() / "m.gguf", {.type = WType::q8_0});
  for (const bool all : {true, false}) {
    nn::LoraOptions options{.rank = 4, .alpha = all ? 0.0f : 8.0f, .targets = "attn_q,ffn_up"};
    if (!all) options.alpha_pattern["attn_q"] = 0;
    const Adapter adapter = some_adapter(model, 0.2f, options);
    save_gguf_lora(adapter, model, dir.path() / "a.gguf");
    const Adapter back = Adapter::load(dir.path() / "a.gguf", model);
    CHECK(largest_difference(model.with_adapter(adapter), model.with_adapter(back)) < 1e-5);
    CHECK((largest_difference(model.with_adapter(back), model) == 0) == all);
  }
}

TEST_CASE("a GGUF LoRA of ours belongs to its base: another one is refused unless forced", "[train][adapter]") {
  const TempDir dir;
  const Model model = write_and_load(dir.path() / "m.gguf", {.type = WType::q8_0});
  const Model other = write_and_load(dir.path() / "o.gguf", {.type = WType::q4_0});
  save_gguf_lora(some_adapter(model, 0.2f), model, dir.path() / "a.gguf");
  CHECK(Adapter::load(dir.path() / "a.gguf", model).base_sha256() == model.base_sha256());
  CHECK_THROWS_AS(Adapter::load(dir.path() / "a.gguf", other), Error);
  CHECK(Adapter::load(dir.path() / "a.gguf", other, true).forced());
}

TEST_CASE("adapters are compared by what they change, not by their factors", "[train][adapter]") {
  const TempDir dir;
  const Model model = write_and_load(dir.path() / "m.gguf", {.type = WType::f32});
  const Adapter a = some_adapter(model, 0.2f), same = some_adapter(model, 0.2f),
                other = some_adapter(model, 0.2f, nn::AdapterMethod::lora, 4);
  for (const AdapterDifference& d : compare_adapters(a, same)) {
    CHECK(d.same_bits);
    CHECK(d.relative == 0.0);
    CHECK(d.change_a > 0);
  }
  for (const AdapterDifference& d : compare_adapters(a, other)) CHECK(d.relative > 0.5);
  const Adapter scaled = some_adapter(model, 0.2f);  // A times two, B halved: the same change
  for (const Adapter::Target& t : scaled.targets()) {
    for (float& v : t.lora.a.tensor().span<float>()) v *= 2;
    for (float& v : t.lora.b.tensor().span<float>()) v /= 2;
  }
  for (const AdapterDifference& d : compare_adapters(a, scaled)) {
    CHECK_FALSE(d.same_bits);
    CHECK(d.relative < 1e-6);
  }
  const Adapter some = Adapter::create(model, {.rank = 4, .targets = "attn_q"}, Seed{1});
  CHECK(compare_adapters(some, a).size() == a.targets().size());
}
