// SPDX-License-Identifier: Apache-2.0
// One bit pattern: the logits of a token sequence, whatever the batch, chunking, threads, set, packing or neighbours.
#include "hanzo/engine/logits.hpp"
#include "hanzo/model/model.hpp"
#include "tests/catch.hpp"
#include "tests/kernels/isas.hpp"
#include "tests/model/tiny_model.hpp"
#include "tests/sanitized.hpp"
#include "tests/temp_dir.hpp"

using namespace hz;
using namespace hz::test;

namespace {

std::vector<TinySpec> specs() {
  std::vector<TinySpec> list;
  list.push_back({});
  list.push_back({.tied = true});
  list.push_back({.hidden = 256, .ff = 256, .head_dim = 32, .type = WType::q4_k});
  list.push_back({.type = WType::q4_1});
  list.push_back({.type = WType::q8_0, .experts = 4, .experts_used = 2});
  list.push_back({.hidden = 256, .ff = 512, .head_dim = 32, .type = WType::q6_k});
  list.push_back({.type = WType::f16});
  list.push_back({.hidden = 256, .ff = 256, .head_dim = 32, .type = WType::iq3_xxs});
  list.push_back({.arch = "qwen2", .type = WType::q5_0, .biases = true});
  list.push_back({.arch = "gemma3", .layers = 7, .type = WType::q8_0, .window = 9, .qk_norm = true, .post_norm = true});
  return list;
}

}  // namespace

TEST_CASE("the logits hash is one for every batch, thread count, instruction set and packing", "[model]") {
  const TempDir dir;
  int n = 0;
  for (const TinySpec& spec : specs()) {
    const auto file = dir.path() / (std::to_string(n++) + ".gguf");
    TinyModel(spec).write(file);
    const auto ids = some_ids(130, spec.vocab);  // two whole pages and a piece
    for (const KvKind kv : {KvKind::f16, KvKind::f32, KvKind::q8_0}) {
      if (kv == KvKind::q8_0 && spec.head_dim % 32 != 0) {
        CHECK_THROWS_AS(Model::load(file, {.kv = kv}), Error);
        continue;
      }
      std::string want;
      for (const auto* isa : runnable_isas())
        for (const int threads : {1, 2, 3})
          for (const double expand : {-1.0, 0.1, 2.0}) {  // below 0: no panels at all
            const bool pack = expand >= 0, scalar = std::string(isa->name) == "scalar";
            const bool every_chunk = !scalar && threads == 2 && pack && !test::kSanitized;
            if ((scalar && threads > 1) || (test::kSanitized && threads > 2)) continue;
            if (expand > 1 && model::expansion(spec.type, 1 << 20) == 0) continue;
            const Model model =
                Model::load(file, {.threads = threads, .isa = isa->name, .pack = pack, .expand = std::max(expand, 0.0), .kv = kv});
            for (const std::int64_t ubatch : {1, 2, 3, 8, 17, 64, 512}) {
              if (!every_chunk && ubatch != 3 && ubatch != 512) continue;
              const std::string hash = logits_hash(model, ids, ubatch);
              if (want.empty()) want = hash;
              INFO(spec.arch << " " << name_of(spec.type) << " " << isa->name << " threads " << threads << " expand " << expand
                             << " ubatch " << ubatch << " kv " << static_cast<int>(kv));
              REQUIRE(hash == want);
            }
          }
    }
  }
}

TEST_CASE("neighbours in a batch, earlier prompts and shared prefixes change no bit", "[model]") {
  const TempDir dir;
  const TinySpec spec{.type = WType::q4_0};
  TinyModel(spec).write(dir.path() / "m.gguf");
  const Model model = Model::load(dir.path() / "m.gguf");
  const auto a = some_ids(70, spec.vocab, 1), b = some_ids(33, spec.vocab, 2), c = some_ids(5, spec.vocab, 3);
  const auto alone = [&](const std::vector<std::int32_t>& ids) {
    auto kv = model.new_sequence();
    const SequenceChunk chunk{&kv, ids};
    return model.forward({&chunk, 1});
  };
  auto ka = model.new_sequence(), kb = model.new_sequence(), kc = model.new_sequence();
  const SequenceChunk chunks[] = {{&ka, a}, {&kb, b}, {&kc, c}};
  const Tensor together = model.forward(chunks);
  CHECK(same_bits(together.row(0), alone(a)));
  CHECK(same_bits(together.row(1), alone(b)));
  CHECK(same_bits(together.row(2), alone(c)));

  model::KvSequence fork = ka;  // shares pages, copies on write
  const auto more = some_ids(9, spec.vocab, 4), other = some_ids(9, spec.vocab, 5);
  const SequenceChunk first{&ka, more}, second{&fork, other};
  const Tensor fa = model.forward({&first, 1}), fb = model.forward({&second, 1});
  auto joined = a;
  joined.insert(joined.end(), more.begin(), more.end());
  CHECK(same_bits(fa, alone(joined)));
  joined.resize(a.size());
  joined.insert(joined.end(), other.begin(), other.end());
  CHECK(same_bits(fb, alone(joined)));

  ka.truncate(40);  // back to a prefix, then on along another way
  const SequenceChunk again{&ka, c};
  const Tensor back = model.forward({&again, 1});
  joined.assign(a.begin(), a.begin() + 40);
  joined.insert(joined.end(), c.begin(), c.end());
  CHECK(same_bits(back, alone(joined)));
}

TEST_CASE("float and int8 activations are two functions, each invariant", "[model]") {
  const TempDir dir;
  const TinySpec spec{.type = WType::q8_0};
  TinyModel(spec).write(dir.path() / "m.gguf");
  const auto ids = some_ids(40, spec.vocab);
  const Model a = Model::load(dir.path() / "m.gguf"), b = Model::load(dir.path() / "m.gguf", {.activations = nn::Activations::f32});
  CHECK(logits_hash(a, ids, 8) != logits_hash(b, ids, 8));
  CHECK(logits_hash(b, ids, 1) == logits_hash(b, ids, 40));
  const Model c = Model::load(dir.path() / "m.gguf", {.pack = false, .activations = nn::Activations::f32});
  CHECK(logits_hash(b, ids, 8) == logits_hash(c, ids, 7));
}
