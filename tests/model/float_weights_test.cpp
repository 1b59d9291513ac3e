// SPDX-License-Identifier: Apache-2.0
// Full fine-tuning: every float weight of a model is trained, and what is written serves what was trained.
#include "hanzo/model/float_weights.hpp"

#include "hanzo/nn/optim.hpp"
#include "tests/autograd/gradcheck.hpp"
#include "tests/catch.hpp"
#include "tests/model/tiny_model.hpp"
#include "tests/model/train_loop.hpp"
#include "tests/temp_dir.hpp"

using namespace hz;
using namespace hz::test;

namespace {

std::vector<TinySpec> specs() {
  std::vector<TinySpec> list;
  list.push_back({});
  list.push_back({.type = WType::f16, .tied = true});
  list.push_back({.type = WType::bf16});
  list.push_back({.arch = "qwen2", .type = WType::f16, .biases = true});
  list.push_back({.arch = "gemma3", .layers = 7, .window = 9, .qk_norm = true, .post_norm = true, .tied = true});
  return list;
}

struct File {
  TempDir dir;
  explicit File(const TinySpec& spec) { TinyModel(spec).write(path()); }
  std::filesystem::path path() const { return dir.path() / "tiny.gguf"; }
  Model load(LoadOptions options = {}) const { return Model::load(path(), std::move(options)); }
};

std::string refusal(const Model& model) {
  try {
    FloatWeights::of(model);
  } catch (const Error& e) {
    return std::string(e.what()) + " | " + e.hint();
  }
  return "accepted";
}

// Steps of plain descent on masters in float, rounded to the variables' types.
std::vector<float> train_all(const Model& model, const FloatWeights& weights, std::span<const std::int32_t> ids, int steps, double rate) {
  optim::Sgd opt(weights.parameters(), {.lr = rate});
  std::vector<float> losses;
  for (int i = 0; i < steps; ++i) {
    Step s = gradients(model, ids);
    losses.push_back(s.loss);
    opt.step(s.grads);
  }
  return losses;
}

}  // namespace

TEST_CASE("variables in place of the file's weights change no bit; trained, they are served as trained", "[model][training][full]") {
  for (const TinySpec& spec : specs()) {
    INFO(spec.arch << " " << name_of(spec.type));
    const File file(spec);
    const Model base = file.load();
    const auto ids = some_ids(40, spec.vocab);
    const Tensor before = base.forward(ids);
    Model model = base;
    const FloatWeights weights = nn::train_weights(model);
    CHECK(same_bits(model.forward(ids), before));
    const auto losses = train_all(model, weights, ids, 6, 0.05);
    CHECK(losses.back() < losses.front());

    Tensor trained;
    {
      Tape tape;
      trained = model.forward(ids);
    }
    weights.save(base, file.dir.path() / "out.gguf");
    for (const int threads : {1, 3}) {
      const Model served = Model::load(file.dir.path() / "out.gguf", {.threads = threads, .pack = threads == 1});
      CHECK(same_bits(served.forward(ids), trained));
      auto kv = served.new_sequence();
      for (std::size_t i = 0; i < ids.size(); ++i) {
        const SequenceChunk one{&kv, std::span(ids).subspan(i, 1)};
        CHECK(same_bits(served.forward({&one, 1}), trained.row(static_cast<std::int64_t>(i))));
      }
    }
    CHECK(same_bits(base.forward(ids), before));  // other handles keep the file's weights
    CHECK_FALSE(same_bits(trained, before));
  }
}

TEST_CASE("every weight has a gradient, equal to finite differences", "[model][training][full]") {
  for (TinySpec spec : specs()) {
    spec.type = WType::f32;
    INFO(spec.arch);
    const File file(spec);
    Model model = file.load({.kv = KvKind::f32, .activations = nn::Activations::f32});
    const auto ids = some_ids(12, spec.vocab);
    const FloatWeights weights = nn::train_weights(model);
    CHECK(weights.parameters().size() == model.file().tensors().size());
    const Step s = gradients(model, ids);
    const auto loss = [&] { return static_cast<double>(next_token_loss(model.forward(ids), ids).item()); };
    for (const Var& v : weights.parameters()) {
      INFO(v.name());
      const Tensor g = s.grads[v], at = v.tensor().clone();
      REQUIRE(g.defined());
      double square = 0;
      for (const float f : g.span<float>()) square += static_cast<double>(f) * f;
      const bool bias_of_k = v.name().ends_with("attn_k.bias");  // adds the same to all scores of a query, but for the rotation
      if (square < 1e-9 && bias_of_k) continue;
      REQUIRE(square > 0);
      // Along the gradient itself: one difference weighs every element.
      const double step = 1e-2 / std::sqrt(square);
      double side[2];
      for (int i = 0; i < 2; ++i) {
        for (std::int64_t k = 0; k < g.numel(); ++k)
          v.tensor().data<float>()[k] = static_cast<float>(at.data<float>()[k] + (i == 0 ? step : -step) * g.data<float>()[k]);
        side[i] = loss();
      }
      v.assign(at);
      CHECK(std::fabs((side[0] - side[1]) / (2 * step) - square) <= 2e-2 * square);
    }
  }
}

TEST_CASE("gradients of all weights do not depend on threads, instruction set or checkpointing", "[model][training][full]") {
  const File file({.type = WType::f16, .tied = true});
  const auto ids = some_ids(70, 80);
  std::vector<Tensor> first;
  for (const bool checkpoint : {true, false})
    for (const int threads : {1, 3})
      for (const char* isa : {"", "avx2"}) {
        Model model = file.load({.threads = threads, .isa = isa});
        const FloatWeights weights = nn::train_weights(model);
        const Step s = gradients(model, ids, {.checkpoint = checkpoint});
        std::vector<Tensor> got;
        for (const Var& v : weights.parameters()) got.push_back(s.grads[v]);
        for (std::size_t i = 0; i < first.size(); ++i) REQUIRE(same_bits(first[i], got[i]));
        if (first.empty()) first = got;
      }
}

TEST_CASE("the file keeps metadata, names, order, types and what is not trained", "[model][training][full]") {
  const File file({.type = WType::bf16, .tied = true});
  const Model base = file.load();
  Model model = base;
  const FloatWeights weights = nn::train_weights(model);
  weights.save(base, file.dir.path() / "same.gguf");
  const Model again = Model::load(file.dir.path() / "same.gguf");
  CHECK(again.base_sha256() == base.base_sha256());
  CHECK(again.file().metadata().entries().size() == base.file().metadata().entries().size());
}

TEST_CASE("quantized weights and experts are refused, with what to do", "[model][training][full]") {
  const File quantized({.type = WType::q4_0}), experts({.experts = 4, .experts_used = 2});
  const std::string q = refusal(quantized.load()), e = refusal(experts.load());
  CHECK(q.find("token_embd.weight is Q4_0") != std::string::npos);
  CHECK(q.find("--method lora") != std::string::npos);
  CHECK(e.find("experts is not built") != std::string::npos);
}

TEST_CASE("rows of a float table are looked up, and get their gradients added up", "[ops][gradients]") {
  const Tensor table = random_tensor({6, 8}, 1);
  const std::int32_t ids[] = {3, 0, 3, 5};
  const Tensor picked = Tensor::from(ids, {4});
  check_differences([&](std::span<const Tensor> in) { return embed(in[0], picked); }, std::vector<Tensor>{table});
  const std::int32_t outside[] = {6};
  CHECK_THROWS_AS(embed(table, Tensor::from(outside, {1})), Error);
}
