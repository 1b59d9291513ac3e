// SPDX-License-Identifier: Apache-2.0
// Collected importance: the sums are those of the inputs, the logits stay the same bits, experts are counted.
#include "hanzo/engine/importance.hpp"

#include <cstring>

#include "hanzo/nn/observe.hpp"
#include "tests/catch.hpp"
#include "tests/model/tiny_model.hpp"
#include "tests/temp_dir.hpp"

using namespace hz;

namespace {

Model tiny(const test::TempDir& dir, const test::TinySpec& spec, int threads = 1, nn::Activations activations = nn::Activations::int8) {
  const auto file = dir.path() / "tiny.gguf";
  test::TinyModel(spec).write(file);
  return Model::load(file, {.threads = threads, .activations = activations});
}
std::vector<std::int32_t> some_ids(std::size_t n) {
  std::vector<std::int32_t> ids(n);
  for (std::size_t i = 0; i < n; ++i) ids[i] = static_cast<std::int32_t>(i * 31 % 80);
  return ids;
}
Tensor logits_of(const Model& model, std::span<const std::int32_t> ids) {
  auto kv = model.new_sequence();
  const SequenceChunk chunk{&kv, ids};
  return model.forward({&chunk, 1}, LogitRows::all);
}

struct Keep final : nn::Observer {
  std::map<std::string, Tensor> seen;
  void see(const std::string& weight, const Tensor& x) override { seen[weight] = x.clone(); }
  void see_experts(const std::string&, std::int64_t, const Tensor&, std::span<const std::int32_t>, std::span<const std::int32_t>) override {
  }
};

}  // namespace

TEST_CASE("importance is the mean square of what each matrix reads") {
  const test::TempDir dir;
  for (const WType type : {WType::f32, WType::q8_0}) {
    const Model model = tiny(dir, {.type = type});
    const auto ids = some_ids(16);
    const auto m = collect_importance(model, ids, {.window = 16});
    CHECK(m.entries().size() == 2 * 7 + 1);  // q k v output gate up down of two layers, and the head
    Keep keep;
    {
      const nn::ObserveScope scope(keep);
      logits_of(model, ids);
    }
    for (const auto& [name, x] : keep.seen) {
      INFO(name);
      const auto means = m.means(name, 1, x.cols());
      REQUIRE(!means.empty());
      for (std::int64_t c = 0; c < x.cols(); ++c) {
        double sum = 0;
        for (std::int64_t r = 0; r < x.rows(); ++r)
          sum += double(x.data<float>()[r * x.cols() + c]) * double(x.data<float>()[r * x.cols() + c]);
        CHECK(means[static_cast<std::size_t>(c)] == Approx(sum / static_cast<double>(x.rows())).epsilon(1e-5));
      }
    }
    // q, k and v read the same; the head reads what no other does.
    CHECK(m.entries().at("blk.0.attn_q.weight").sums == m.entries().at("blk.0.attn_v.weight").sums);
    CHECK(m.entries().at("output.weight").sums != m.entries().at("blk.1.attn_q.weight").sums);
  }
}

TEST_CASE("logits are the same bits with and without an observer") {
  const test::TempDir dir;
  for (const bool experts : {false, true}) {
    test::TinySpec spec{.type = WType::q8_0};
    if (experts) spec.experts = 4, spec.experts_used = 2;
    const Model model = tiny(dir, spec);
    const auto ids = some_ids(24);
    const Tensor plain = logits_of(model, ids);
    Keep keep;
    const nn::ObserveScope scope(keep);
    const Tensor seen = logits_of(model, ids);
    CHECK(std::memcmp(plain.raw(), seen.raw(), plain.nbytes()) == 0);
  }
}

TEST_CASE("importance is the same for any number of threads, and adds up over windows") {
  const test::TempDir dir;
  const auto ids = some_ids(64);
  const auto one = collect_importance(tiny(dir, {}, 1), ids, {.window = 16}),
             three = collect_importance(tiny(dir, {}, 3), ids, {.window = 16});
  CHECK(one.chunk_count == 4);
  for (const auto& [name, e] : one.entries()) {
    CHECK(e.sums == three.entries().at(name).sums);
    CHECK(e.counts == std::vector<float>{64});
  }
  auto half = collect_importance(tiny(dir, {}), std::span(ids).first(32), {.window = 16});
  half.add(collect_importance(tiny(dir, {}), std::span(ids).subspan(32), {.window = 16}));
  for (const auto& [name, e] : one.entries())
    for (std::size_t i = 0; i < e.sums.size(); ++i) CHECK(half.entries().at(name).sums[i] == Approx(e.sums[i]).epsilon(1e-5));
  CHECK_THROWS_AS(collect_importance(tiny(dir, {}), std::span(ids).first(10), {.window = 16}), Error);
}

TEST_CASE("experts are counted by the rows that reach them") {
  const test::TempDir dir;
  const Model model = tiny(dir, {.experts = 4, .experts_used = 2});
  const auto m = collect_importance(model, some_ids(48), {.window = 16});
  const auto& up = m.entries().at("blk.0.ffn_up_exps.weight");
  const auto& down = m.entries().at("blk.0.ffn_down_exps.weight");
  CHECK(up.experts == 4);
  CHECK(down.cols == 96);
  float rows = 0;
  for (const float c : up.counts) rows += c;
  CHECK(rows == 48 * 2);
  CHECK(up.counts == down.counts);
  CHECK(m.entries().contains("blk.0.ffn_gate_inp.weight"));
}
