// SPDX-License-Identifier: Apache-2.0
// Adapters: selection of layers, several at once and per sequence, files in and out, bases that do not fit.
#include "hanzo/model/adapter.hpp"

#include <fstream>
#include <iterator>

#include "hanzo/io/atomic_file.hpp"
#include "hanzo/io/safetensors.hpp"
#include "hanzo/model/kv_state.hpp"
#include "tests/autograd/gradcheck.hpp"
#include "tests/catch.hpp"
#include "tests/model/tiny_model.hpp"
#include "tests/model/train_loop.hpp"
#include "tests/temp_dir.hpp"

using namespace hz;
using namespace hz::test;

namespace {

const std::vector<std::int32_t> kIds{5, 17, 3, 3, 42, 60, 1, 9, 33, 70, 2};

// A model file of a spec in a folder of its own, and adapters over it.
struct Fixture {
  TempDir dir;
  Model model;
  explicit Fixture(const TinySpec& spec = {.type = WType::q8_0}) : model(load(spec)) {}
  Model load(const TinySpec& spec) const {
    TinyModel(spec).write(dir.path() / "tiny.gguf");
    return Model::load(dir.path() / "tiny.gguf");
  }
  // With B filled.
  Adapter adapter(const nn::LoraOptions& options, std::uint64_t seed) const {
    Adapter a = Adapter::create(model, options, Seed{seed});
    for (const Adapter::Target& t : a.targets())
      for (std::int64_t i = 0; i < t.lora.b.tensor().numel(); ++i)
        t.lora.b.tensor().data<float>()[i] = 0.2f * uniform(seed, t.lora.stream + 1, static_cast<std::uint64_t>(i)) - 0.1f;
    return a;
  }
};

std::string error_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const Error& e) {
    return std::string(e.what()) + " | " + std::string(e.where()) + " | " + std::string(e.hint());
  }
  return "";
}

std::vector<std::string> modules(const Adapter& a) {
  std::vector<std::string> names;
  for (const Adapter::Target& t : a.targets()) names.push_back(t.module);
  return names;
}

std::string read(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}
void replace(const std::filesystem::path& file, const std::string& from, const std::string& to) {
  std::string text = read(file);
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  io::write_file(file, text.replace(at, from.size(), to));
}

// The adapter as a GGUF LoRA file, as peers write it.
void write_gguf(const Adapter& a, const std::filesystem::path& file, float alpha) {
  io::GgufWriter w;
  w.metadata().set("general.type", {std::string("adapter")});
  w.metadata().set("general.architecture", {std::string("llama")});
  w.metadata().set("adapter.type", {std::string("lora")});
  w.metadata().set("adapter.lora.alpha", {alpha});
  for (const Adapter::Target& t : a.targets()) {
    w.add(t.module + ".weight.lora_a", t.lora.a.tensor());
    w.add(t.module + ".weight.lora_b", t.lora.b.tensor());
  }
  w.write(file);
}

}  // namespace

TEST_CASE("all-linear is q, k, v, o, gate, up, down of every block and not the head", "[model][adapter]") {
  const Fixture f;
  const Adapter a = Adapter::create(f.model, {.rank = 2, .alpha = 4}, Seed{1});
  CHECK(a.targets().size() == 14);
  CHECK(modules(a)[0] == "blk.0.attn_q");
  CHECK(a.parameters().size() == 28);
  CHECK(a.parameters()[1].name() == "blk.0.attn_q.lora_b");
  for (const std::string& m : modules(a)) CHECK(m != "output");
}

TEST_CASE("layers are selected by name, either kind, and by pattern", "[model][adapter]") {
  const Fixture f;
  const auto select = [&](const std::string& targets) {
    return modules(Adapter::create(f.model, {.rank = 2, .alpha = 4, .targets = targets}, Seed{1}));
  };
  CHECK(select("q_proj,attn_v") == std::vector<std::string>{"blk.0.attn_q", "blk.0.attn_v", "blk.1.attn_q", "blk.1.attn_v"});
  CHECK(select("blk.1.ffn_down") == std::vector<std::string>{"blk.1.ffn_down"});
  CHECK(select("re:blk\\.0\\.ffn_.*") == std::vector<std::string>{"blk.0.ffn_gate", "blk.0.ffn_up", "blk.0.ffn_down"});
  CHECK(select("lm_head") == std::vector<std::string>{"output"});
  CHECK(error_of([&] { select("atn_q"); }).find("did you mean attn_q?") != std::string::npos);
  CHECK_FALSE(error_of([&] { select("re:("); }).empty());
  CHECK_FALSE(error_of([&] { select(""); }).empty());
}

TEST_CASE("the head of a tied model has no adapter", "[model][adapter]") {
  const Fixture f({.type = WType::q8_0, .tied = true});
  CHECK_FALSE(error_of([&] { Adapter::create(f.model, {.rank = 2, .alpha = 4, .targets = "output"}, Seed{1}); }).empty());
}

TEST_CASE("rank and alpha follow patterns; scales follow the method", "[model][adapter]") {
  const Fixture f;
  const Adapter a = Adapter::create(
      f.model,
      {.rank = 4, .alpha = 8, .targets = "attn_q,attn_v", .rank_pattern = {{"attn_v", 2}}, .alpha_pattern = {{"blk.1.attn_q", 2.0f}}},
      Seed{1});
  CHECK(a.targets()[0].lora.scale == 2.0f);
  CHECK(a.targets()[1].lora.rank() == 2);
  CHECK(a.targets()[1].lora.scale == 4.0f);
  CHECK(a.targets()[2].lora.scale == 0.5f);
  CHECK(Adapter::create(f.model, {.rank = 16, .alpha = 16, .method = nn::AdapterMethod::rslora}, Seed{1}).targets()[0].lora.scale == 4.0f);
  CHECK_FALSE(error_of([&] { Adapter::create(f.model, {.rank = 0, .alpha = 8}, Seed{1}); }).empty());
  CHECK_FALSE(error_of([&] { Adapter::create(f.model, {.rank = 2, .alpha = 8, .dropout = 1.0f}, Seed{1}); }).empty());
}

TEST_CASE("a seed gives the same adapter again, another seed another one", "[model][adapter]") {
  const Fixture f;
  const nn::LoraOptions options{.rank = 4, .alpha = 8};
  const Adapter a = Adapter::create(f.model, options, Seed{7}), b = Adapter::create(f.model, options, Seed{7}),
                c = Adapter::create(f.model, options, Seed{8});
  CHECK(same_bits(a.parameters()[0], b.parameters()[0]));
  CHECK_FALSE(same_bits(a.parameters()[0], c.parameters()[0]));
  const float bound = 1.0f / std::sqrt(64.0f);
  for (const float v : a.parameters()[0].tensor().span<float>()) CHECK(std::fabs(v) <= bound);
}

TEST_CASE("a saved adapter gives the same logits again, every method, rows of heads as Hugging Face has them", "[model][adapter]") {
  for (const char* arch : {"llama", "qwen2"})
    for (const nn::AdapterMethod method : {nn::AdapterMethod::lora, nn::AdapterMethod::rslora, nn::AdapterMethod::dora}) {
      const Fixture f({.arch = arch, .type = WType::q8_0, .biases = std::string(arch) == "qwen2"});
      const Adapter a =
          f.adapter({.rank = 4, .alpha = 8, .method = method, .rank_pattern = {{"attn_k", 2}}, .alpha_pattern = {{"ffn_up", 3.0f}}}, 3);
      const auto folder = f.dir.path() / "adapter";
      a.save(folder);
      const Adapter b = Adapter::load(folder, f.model);
      CHECK(b.method() == method);
      CHECK(b.base_sha256() == f.model.base_sha256());
      CHECK_FALSE(b.forced());
      CHECK(same_bits(f.model.with_adapter(a).forward(kIds), f.model.with_adapter(b).forward(kIds)));
      // Row 1 of a head's first half is row 2 where pairs are adjacent.
      const Tensor saved = io::SafeTensors::open(folder / "adapter_model.safetensors")
                               .tensor("base_model.model.model.layers.0.self_attn.q_proj.lora_B.weight");
      const Tensor ours = a.targets()[0].lora.b.tensor();
      CHECK(saved.data<float>()[1 * 4] == ours.data<float>()[(std::string(arch) == "llama" ? 2 : 1) * 4]);
    }
}

TEST_CASE("GGUF LoRA files load with alpha over rank, or scale 1 where alpha is 0", "[model][adapter]") {
  const Fixture f;
  const Adapter a = f.adapter({.rank = 4, .alpha = 8}, 3);
  write_gguf(a, f.dir.path() / "lora.gguf", 8.0f);
  const Adapter b = Adapter::load(f.dir.path() / "lora.gguf", f.model);
  CHECK(same_bits(f.model.with_adapter(a).forward(kIds), f.model.with_adapter(b).forward(kIds)));
  write_gguf(a, f.dir.path() / "zero.gguf", 0.0f);
  CHECK(Adapter::load(f.dir.path() / "zero.gguf", f.model).targets()[0].lora.scale == 1.0f);
}

TEST_CASE("models load with adapters, in order and with their strengths", "[model][adapter]") {
  const Fixture f;
  const Adapter a = f.adapter({.rank = 4, .alpha = 8}, 3), b = f.adapter({.rank = 2, .alpha = 2, .targets = "attn_q,ffn_up"}, 4);
  a.save(f.dir.path() / "a");
  b.save(f.dir.path() / "b");
  const Model loaded = Model::load(f.dir.path() / "tiny.gguf", {.adapters = {{f.dir.path() / "a", 1}, {f.dir.path() / "b", 0.5f}}});
  CHECK(loaded.adapters() == std::vector<std::string>{"a", "b"});
  const Model both = f.model.with_adapter(a).with_adapter(b, 0.5f);
  CHECK(same_bits(loaded.forward(kIds), both.forward(kIds)));
  CHECK_FALSE(same_bits(loaded.forward(kIds), f.model.with_adapter(a).forward(kIds)));
  CHECK(model::kv_binding(loaded).adapters != model::kv_binding(f.model).adapters);
  CHECK(model::kv_binding(loaded).adapters == model::kv_binding(both).adapters);
  CHECK(model::kv_binding(f.model.without_adapters()).adapters.empty());
}

TEST_CASE("sequences of one batch use different adapters, each as if alone", "[model][adapter]") {
  const Fixture f;
  const Adapter a = f.adapter({.rank = 4, .alpha = 8}, 3), b = f.adapter({.rank = 2, .alpha = 2}, 4);
  const Model both = f.model.with_adapter(a).with_adapter(b);
  const std::vector<nn::AdapterUse> uses[] = {{}, {{0, 1.0f}}, {{1, 0.25f}}, {{0, 1.0f}, {1, 1.0f}}};
  const Model alone[] = {f.model, f.model.with_adapter(a), f.model.with_adapter(b, 0.25f), both};
  std::vector<model::KvSequence> kv;
  std::vector<SequenceChunk> chunks;
  for (int i = 0; i < 5; ++i) kv.push_back(both.new_sequence());
  for (std::size_t i = 0; i < 4; ++i) chunks.push_back({&kv[i], kIds, &uses[i]});
  chunks.push_back({&kv[4], kIds});  // no choice: all of them
  const Tensor logits = both.forward(chunks, LogitRows::all);
  const auto n = static_cast<std::int64_t>(kIds.size());
  for (std::int64_t i = 0; i < 5; ++i) {
    INFO("sequence " << i);
    CHECK(same_bits(logits.slice(0, i * n, (i + 1) * n), alone[std::min<std::int64_t>(i, 3)].forward(kIds)));
  }
}

TEST_CASE("gradients of a batch with mixed adapters go to those that were used", "[model][adapter]") {
  const Fixture f;
  const Adapter a = f.adapter({.rank = 4, .alpha = 8}, 3), b = f.adapter({.rank = 2, .alpha = 2}, 4);
  const Model both = f.model.with_adapter(a).with_adapter(b);
  const std::vector<nn::AdapterUse> first{{0, 1.0f}}, none{};
  auto one = both.new_sequence(), two = both.new_sequence();
  const SequenceChunk chunks[] = {{&one, kIds, &first}, {&two, kIds, &none}};
  GradStore mixed;
  {
    Tape tape;
    const Tensor logits = both.forward(chunks, LogitRows::all);
    mixed = tape.backward(next_token_loss(slice_rows(logits, 0, static_cast<std::int64_t>(kIds.size())), kIds));
  }
  const Step plain = gradients(f.model.with_adapter(a), kIds);
  for (const Var& v : a.parameters()) {
    REQUIRE(mixed[v].defined());
    CHECK(distance(mixed[v], plain.grads[v]) <= 1e-5);
  }
  for (const Var& v : b.parameters()) CHECK_FALSE(mixed.contains(v));
}

TEST_CASE("an adapter of another base is refused; forced, it is accepted and remembers", "[model][adapter]") {
  const Fixture f;
  const Adapter a = f.adapter({.rank = 4, .alpha = 8}, 3);
  const auto folder = f.dir.path() / "adapter";
  a.save(folder);
  TinyModel(TinySpec{.type = WType::q4_0}).write(f.dir.path() / "other.gguf");
  const Model other = Model::load(f.dir.path() / "other.gguf");
  CHECK(error_of([&] { Adapter::load(folder, other); }).find("another base") != std::string::npos);
  const Adapter forced = Adapter::load(folder, other, true);
  CHECK(forced.forced());
  forced.save(f.dir.path() / "again");
  CHECK(read(f.dir.path() / "again" / "adapter_config.json").find("\"hanzo_forced\": true") != std::string::npos);
  CHECK_FALSE(error_of([&] { Model::load(f.dir.path() / "other.gguf", {.adapters = {{folder, 1}}}); }).empty());
  CHECK_NOTHROW(Model::load(f.dir.path() / "other.gguf", {.adapters = {{folder, 1}}, .force_adapters = true}));
}

TEST_CASE("adapter folders with a fault are refused by name", "[model][adapter]") {
  const Fixture f;
  f.adapter({.rank = 4, .alpha = 8}, 3).save(f.dir.path() / "good");
  const auto config = f.dir.path() / "bad" / "adapter_config.json";
  const auto fault = [&](const std::string& from, const std::string& to) {
    std::filesystem::remove_all(f.dir.path() / "bad");
    std::filesystem::copy(f.dir.path() / "good", f.dir.path() / "bad");
    replace(config, from, to);
    const std::string e = error_of([&] { Adapter::load(f.dir.path() / "bad", f.model); });
    CHECK(e.find("adapter_") != std::string::npos);  // the file
    return e;
  };
  CHECK(fault("\"r\": 4", "\"r\": 5").find("rank 4") != std::string::npos);
  CHECK(fault("\"r\": 4", "\"r\": \"x\"").find("r must be a number") != std::string::npos);
  CHECK(fault("\"LORA\"", "\"IA3\"").find("IA3") != std::string::npos);
  CHECK(fault("\"bias\": \"none\"", "\"bias\": \"all\"").find("biases") != std::string::npos);
  CHECK(fault("\"use_dora\": false", "\"use_dora\": true").find("use_dora") != std::string::npos);
  CHECK(fault("{", "[").find("no JSON object") != std::string::npos);
  CHECK(fault("\"modules_to_save\": null", "\"modules_to_save\": [\"lm_head\"]").find("modules_to_save") != std::string::npos);
  std::filesystem::remove(config);
  CHECK_FALSE(error_of([&] { Adapter::load(f.dir.path() / "bad", f.model); }).empty());
  CHECK_FALSE(error_of([&] { Adapter::load(f.dir.path() / "nothing-there", f.model); }).empty());
}

TEST_CASE("an adapter of other shapes is refused", "[model][adapter]") {
  const Fixture f;
  const Adapter a = f.adapter({.rank = 4, .alpha = 8}, 3);
  TinyModel(TinySpec{.hidden = 96, .type = WType::q8_0}).write(f.dir.path() / "wide.gguf");
  const Model wide = Model::load(f.dir.path() / "wide.gguf");
  CHECK_FALSE(error_of([&] { wide.with_adapter(a); }).empty());
  write_gguf(a, f.dir.path() / "lora.gguf", 8.0f);
  CHECK(error_of([&] { Adapter::load(f.dir.path() / "lora.gguf", wide); }).find("another model") != std::string::npos);
}
