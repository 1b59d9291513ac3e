// SPDX-License-Identifier: Apache-2.0
// Training and serving are one function: the claims of docs/training.md, each a test.
#include <cstdlib>
#include <filesystem>

#include "hanzo/model/adapter.hpp"
#include "tests/autograd/gradcheck.hpp"
#include "tests/catch.hpp"
#include "tests/model/tiny_model.hpp"
#include "tests/model/train_loop.hpp"
#include "tests/sanitized.hpp"
#include "tests/temp_dir.hpp"

using namespace hz;
using namespace hz::test;

namespace {

std::vector<TinySpec> specs() {
  std::vector<TinySpec> list;
  list.push_back({});
  list.push_back({.hidden = 256, .ff = 256, .head_dim = 32, .type = WType::q4_k});
  list.push_back({.type = WType::q4_1, .tied = true});
  list.push_back({.type = WType::q8_0, .experts = 4, .experts_used = 2});
  list.push_back({.arch = "qwen2", .type = WType::q5_0, .biases = true});
  list.push_back({.arch = "gemma3", .layers = 7, .type = WType::q8_0, .window = 9, .qk_norm = true, .post_norm = true});
  return list;
}

// Weights of a format without an encoder are random blocks: huge, fit for comparing bits and not for descending.
bool tame(const TinySpec& s) { return quant::info(s.type).encoder != nullptr; }

const char* name_of(const TinySpec& s) { return s.experts > 0 ? "experts" : s.arch.c_str(); }

// A model file and its path, for as long as it lives.
class File {
 public:
  explicit File(const TinySpec& spec) : path_(dir_.path() / "tiny.gguf") { TinyModel(spec).write(path_); }
  Model load(LoadOptions options = {}) const { return Model::load(path_, std::move(options)); }

 private:
  TempDir dir_;
  std::filesystem::path path_;
};

// B filled, so that every term of a gradient counts.
void fill_b(const Adapter& adapter, float size = 0.05f) {
  std::uint64_t seed = 50;
  for (const Adapter::Target& t : adapter.targets()) {
    const Tensor r = random_tensor(t.lora.b.shape(), ++seed);
    for (std::int64_t i = 0; i < r.numel(); ++i) t.lora.b.tensor().data<float>()[i] = size * std::tanh(r.data<float>()[i]);
    t.lora.b.touch();
  }
}

std::string file_bytes_hash(const Model& m) { return model::tensors_sha256(m.file()); }

// Logits of all positions, token by token through the cache.
Tensor decode_steps(const Model& model, std::span<const std::int32_t> ids) {
  auto kv = model.new_sequence();
  Tensor all = Tensor::empty({static_cast<std::int64_t>(ids.size()), model.hparams().vocab});
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const SequenceChunk c{&kv, ids.subspan(i, 1)};
    const Tensor y = model.forward({&c, 1});
    std::copy_n(y.data<float>(), y.numel(), all.data<float>() + static_cast<std::int64_t>(i) * all.cols());
  }
  return all;
}

}  // namespace

TEST_CASE("(a, e) training leaves the base's bytes and, without the adapter, its logits as they were", "[model][training]") {
  for (const TinySpec& spec : specs()) {
    INFO(name_of(spec));
    const File file(spec);
    const Model base = file.load();
    const auto ids = some_ids(20, spec.vocab);
    const std::string hash = file_bytes_hash(base);
    const Tensor before = base.forward(ids);
    Model model = base;
    const Adapter adapter = nn::attach_lora(model, {.rank = 4, .alpha = 8}, Seed{7});
    const auto losses = train(model, adapter, ids, 8, 0.5f);
    if (tame(spec)) CHECK(losses.back() < losses.front());
    CHECK_FALSE(same_bits(model.forward(ids), before));
    CHECK(file_bytes_hash(model) == hash);
    CHECK(base.base_sha256() == hash);
    CHECK(same_bits(base.forward(ids), before));
    CHECK(same_bits(model.without_adapters().forward(ids), before));
  }
}

TEST_CASE("(b) with B = 0 the logits are the base's, bit for bit", "[model][training]") {
  for (const TinySpec& spec : specs()) {
    const File file(spec);
    const Model base = file.load();
    const auto ids = some_ids(20, spec.vocab);
    Model model = base;
    nn::attach_lora(model, {.rank = 4, .alpha = 8}, Seed{7});
    INFO(name_of(spec));
    CHECK(same_bits(base.forward(ids), model.forward(ids)));
    Model rs = base;
    nn::attach_lora(rs, {.rank = 4, .alpha = 8, .method = nn::AdapterMethod::rslora}, Seed{7});
    CHECK(same_bits(base.forward(ids), rs.forward(ids)));
  }
}

TEST_CASE("(b) DoRA starts at the base, bit for bit: its magnitude is the norm that divides it", "[model][training]") {
  const File file({.type = WType::q8_0});
  const Model base = file.load();
  const auto ids = some_ids(20, 80);
  Model model = base;
  nn::attach_lora(model, {.rank = 4, .alpha = 8, .method = nn::AdapterMethod::dora}, Seed{7});
  CHECK(same_bits(base.forward(ids), model.forward(ids)));
}

TEST_CASE("(c) a trained adapter's training forward is the served prefill and decode, bit for bit", "[model][training]") {
  const TempDir dir;
  int n = 0;
  for (const TinySpec& spec : specs())
    for (const nn::AdapterMethod method : {nn::AdapterMethod::lora, nn::AdapterMethod::dora}) {
      INFO(name_of(spec));
      const File file(spec);
      const auto ids = some_ids(70, spec.vocab);
      Model model = file.load();
      const Adapter adapter = nn::attach_lora(model, {.rank = 4, .alpha = 8, .method = method}, Seed{7});
      train(model, adapter, ids, 3, 0.3f);
      const auto folder = dir.path() / std::to_string(n++);
      adapter.save(folder);
      Tensor trained;
      for (const bool checkpoint : {true, false}) {
        Tape tape({.checkpoint = checkpoint});
        const Tensor logits = model.forward(ids);
        CHECK(logits.grad_id() != 0);
        if (trained.defined()) CHECK(same_bits(trained, logits));
        trained = logits;
      }
      for (const int threads : {3, 1}) {
        if (test::kSanitized && threads == 1) continue;
        const Model plain = file.load({.threads = threads, .pack = threads == 1});
        const Model served = plain.with_adapter(Adapter::load(folder, plain));
        CHECK(same_bits(served.forward(ids), trained));
        CHECK(same_bits(decode_steps(served, ids), trained));
        // In a batch with others, in chunks.
        auto one = served.new_sequence(), two = served.new_sequence();
        const auto other = some_ids(9, spec.vocab, 5);
        const std::span<const std::int32_t> all(ids);
        const SequenceChunk first[] = {{&two, other}, {&one, all.first(33)}};
        served.forward(first);
        const SequenceChunk rest{&one, all.subspan(33)};
        CHECK(same_bits(served.forward({&rest, 1}), trained.slice(0, 69, 70)));
      }
    }
}

TEST_CASE("(d) gradients reach the adapter's variables and nothing else", "[model][training]") {
  for (const TinySpec& spec : specs()) {
    const File file(spec);
    Model model = file.load();
    const Adapter adapter = nn::attach_lora(model, {.rank = 4, .alpha = 8}, Seed{7});
    fill_b(adapter);
    const Step s = gradients(model, some_ids(20, spec.vocab));
    INFO(name_of(spec));
    CHECK(s.grads.size() == adapter.parameters().size());
    for (const Var& v : adapter.parameters()) {
      INFO(v.name());
      REQUIRE(s.grads[v].defined());
      CHECK(largest(s.grads[v]) > 0);
    }
  }
}

TEST_CASE("(f) a layer's change is bounded by its factors, and vanishes where A does", "[model][training]") {
  const File file({.type = WType::q8_0});
  Model model = file.load();
  const Adapter adapter = nn::attach_lora(model, {.rank = 4, .alpha = 8}, Seed{7});
  train(model, adapter, some_ids(20, 80), 4, 0.5f);
  const auto norm = [](const Tensor& t) {
    double s = 0;
    for (const float f : t.span<float>()) s += static_cast<double>(f) * f;
    return std::sqrt(s);
  };
  const auto with = [&](nn::Linear layer, const Tensor& x, bool adapted) {
    if (!adapted) layer.adapters.clear();
    return nn::apply(layer, nn::Activation(x), nn::Activations::f32);
  };
  model::for_each_linear(model.weights(), [&](const std::string& name, const nn::Linear& layer) {
    if (layer.adapters.empty()) return;
    INFO(name);
    const nn::LoraAdapter& a = layer.adapters[0];
    Tensor x = random_tensor({1, layer.in()}, 3);
    const auto change = [&] {
      Tensor d = with(layer, x, true);
      const Tensor y = with(layer, x, false);
      for (std::int64_t i = 0; i < d.numel(); ++i) d.data<float>()[i] -= y.data<float>()[i];
      return norm(d);
    };
    CHECK(change() > 0);
    CHECK(change() <= 1.001 * a.scale * norm(a.b.tensor()) * norm(a.a.tensor()) * norm(x) + 1e-4);
    // Project x out of A's rows (Gram-Schmidt in double): what is left lies in A's kernel.
    std::vector<std::vector<double>> basis;
    const auto dot = [](const std::vector<double>& p, const std::vector<double>& q) {
      double s = 0;
      for (std::size_t i = 0; i < p.size(); ++i) s += p[i] * q[i];
      return s;
    };
    for (std::int64_t r = 0; r < a.rank(); ++r) {
      std::vector<double> v(a.a.tensor().data<float>() + r * layer.in(), a.a.tensor().data<float>() + (r + 1) * layer.in());
      for (const auto& b : basis) {
        const double c = dot(v, b);
        for (std::size_t i = 0; i < v.size(); ++i) v[i] -= c * b[i];
      }
      const double size = std::sqrt(dot(v, v));
      for (double& e : v) e /= size;
      basis.push_back(v);
    }
    std::vector<double> v(x.data<float>(), x.data<float>() + x.numel());
    for (const auto& b : basis) {
      const double c = dot(v, b);
      for (std::size_t i = 0; i < v.size(); ++i) v[i] -= c * b[i];
    }
    for (std::size_t i = 0; i < v.size(); ++i) x.data<float>()[i] = static_cast<float>(v[i]);
    CHECK(change() <= 1e-4 * norm(x));
  });
}

TEST_CASE("the gradients of the lowest layer equal finite differences through frozen layers above", "[model][training]") {
  for (TinySpec spec : specs()) {
    if (spec.experts > 0 || !tame(spec)) continue;  // the choice of experts has steps
    INFO(name_of(spec));
    const File file(spec);
    Model model = file.load({.kv = KvKind::f32, .activations = nn::Activations::f32});
    const auto ids = some_ids(12, spec.vocab);
    const Adapter adapter = nn::attach_lora(model, {.rank = 2, .alpha = 4, .targets = "re:blk\\.0\\..*"}, Seed{7});
    fill_b(adapter);
    const Step s = gradients(model, ids);
    const auto loss = [&] { return static_cast<double>(next_token_loss(model.forward(ids), ids).item()); };
    for (const Var& v : adapter.parameters()) {
      // Along the gradient itself: one difference weighs every element.
      const Tensor g = s.grads[v], at = v.tensor().clone();
      double square = 0;
      for (const float f : g.span<float>()) square += static_cast<double>(f) * f;
      const double step = 2e-2 / std::sqrt(square);
      double side[2];
      for (int i = 0; i < 2; ++i) {
        for (std::int64_t k = 0; k < g.numel(); ++k)
          v.tensor().data<float>()[k] = static_cast<float>(at.data<float>()[k] + (i == 0 ? step : -step) * g.data<float>()[k]);
        side[i] = loss();
      }
      v.assign(at);
      INFO(v.name());
      CHECK(std::fabs((side[0] - side[1]) / (2 * step) - square) <= 2e-2 * square);
    }
  }
}

TEST_CASE("checkpointing, threads and instruction sets do not change a bit of the gradients", "[model][training]") {
  for (const TinySpec& spec : specs()) {
    INFO(name_of(spec));
    const File file(spec);
    const auto ids = some_ids(70, spec.vocab);
    std::vector<Tensor> first;
    for (const bool checkpoint : {true, false})
      for (const int threads : {1, 3})
        for (const char* isa : {"", "avx2"}) {
          Model model = file.load({.threads = threads, .isa = isa});
          const Adapter adapter = nn::attach_lora(model, {.rank = 4, .alpha = 8}, Seed{7});
          fill_b(adapter);
          const Step s = gradients(model, ids, {.checkpoint = checkpoint});
          std::vector<Tensor> got;
          for (const Var& v : adapter.parameters()) got.push_back(s.grads[v]);
          for (std::size_t i = 0; i < first.size(); ++i) REQUIRE(same_bits(first[i], got[i]));
          if (first.empty()) first = got;
        }
  }
}

TEST_CASE("the cpu backend's gradients are the reference backend's", "[model][training]") {
  for (const TinySpec& spec : specs()) {
    if (spec.experts > 0 || !tame(spec)) continue;  // a last bit may choose another expert
    INFO(name_of(spec));
    const File file(spec);
    const auto ids = some_ids(12, spec.vocab);
    std::vector<std::vector<Tensor>> grads;
    for (const char* device : {"reference", "cpu"}) {
      Model model = file.load({.device = device, .kv = KvKind::f32, .activations = nn::Activations::f32});
      const Adapter adapter = nn::attach_lora(model, {.rank = 2, .alpha = 4}, Seed{7});
      fill_b(adapter);
      const Step s = gradients(model, ids);
      grads.emplace_back();
      for (const Var& v : adapter.parameters()) grads.back().push_back(s.grads[v]);
    }
    for (std::size_t i = 0; i < grads[0].size(); ++i) CHECK(distance(grads[1][i], grads[0][i]) <= 1e-3);
  }
}

TEST_CASE("dropout is a function of the tape's seed, and serving has none", "[model][training]") {
  const File file({.type = WType::q8_0});
  const Model base = file.load();
  const auto ids = some_ids(20, 80);
  Model model = base, plain = base;
  const Adapter adapter = nn::attach_lora(model, {.rank = 4, .alpha = 8, .dropout = 0.5f}, Seed{7});
  fill_b(adapter);
  const auto logits = [&](std::uint64_t seed) {
    Tape tape({.seed = Seed{seed}});
    return model.forward(ids);
  };
  CHECK(same_bits(logits(1), logits(1)));
  CHECK_FALSE(same_bits(logits(1), logits(2)));
  const Adapter same = nn::attach_lora(plain, {.rank = 4, .alpha = 8}, Seed{7});
  fill_b(same);
  CHECK(same_bits(model.forward(ids), plain.forward(ids)));
  const Step kept = gradients(model, ids, {.checkpoint = false, .seed = Seed{5}}),
             again = gradients(model, ids, {.checkpoint = true, .seed = Seed{5}});
  for (const Var& v : adapter.parameters()) CHECK(same_bits(kept.grads[v], again.grads[v]));
}

TEST_CASE("a sequence is given to a tape in one call", "[model][training]") {
  const File file({});
  Model model = file.load();
  nn::attach_lora(model, {.rank = 2, .alpha = 4}, Seed{7});
  const auto ids = some_ids(10, 80);
  auto kv = model.new_sequence();
  const SequenceChunk chunk{&kv, ids};
  model.forward({&chunk, 1});  // a prefix without a tape is a constant
  Tape tape;
  CHECK_NOTHROW(model.forward({&chunk, 1}));
  CHECK_THROWS_AS(model.forward({&chunk, 1}), Error);
}

TEST_CASE("the loss of SmolLM2 falls, and its base stays the same", "[model][training]") {
  const char* models = std::getenv("HANZO_MODELS");
  const auto path = std::filesystem::path(models ? models : "") / "SmolLM2-135M-Instruct.Q4_1.gguf";
  if (models == nullptr || !std::filesystem::exists(path)) return;
  Model model = Model::load(path);
  const std::string hash = model.base_sha256();
  const Adapter adapter = nn::attach_lora(model, {.rank = 8, .alpha = 16}, Seed{7});
  const auto ids = some_ids(48, 2000);
  const auto losses = train(model, adapter, ids, 4, 0.05f);
  CAPTURE(losses);
  CHECK(losses[3] < losses[0] - 0.1f);
  CHECK(file_bytes_hash(model) == hash);
}
