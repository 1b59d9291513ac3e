// SPDX-License-Identifier: Apache-2.0
// Attention over pages: against double precision, and the same bits for any chunking, set and thread count.
#include <cmath>

#include "hanzo/model/kv_cache.hpp"
#include "hanzo/ops/ops.hpp"
#include "tests/catch.hpp"
#include "tests/kernels/isas.hpp"
#include "tests/random.hpp"

using namespace hz;
using namespace hz::test;

namespace {

struct Setup {
  int heads = 6, kv_heads = 2, head_dim = 32, value_dim = 32;
  KvKind kind = KvKind::f32;
  std::int64_t window = 0;
  float softcap = 0;
  bool causal = true, sinks = false, slopes = false;
};

// All queries of `n` positions, evaluated `chunk` at a time.
Tensor attend(Backend& backend, const Setup& s, std::int64_t n, std::int64_t chunk) {
  const Tensor q = random_tensor({n, s.heads * s.head_dim}, 1), k = random_tensor({n, s.kv_heads * s.head_dim}, 2),
               v = random_tensor({n, s.kv_heads * s.value_dim}, 3);
  const Tensor sinks = random_tensor({s.heads}, 4), slopes = random_tensor({s.heads}, 5);
  const auto layout = std::make_shared<model::PageLayout>(backend, std::vector<KvLayout>{{s.kind, s.kv_heads, s.head_dim, s.value_dim}});
  model::KvSequence kv(layout);
  Tensor out = Tensor::zeros({n, s.heads * s.value_dim});
  for (std::int64_t at = 0; at < n; at += chunk) {
    const std::int64_t count = std::min(chunk, n - at);
    kv.reserve(count);
    const KvSegment segment{0, count, at, 0, kv.pages()};
    AttentionArgs args;
    args.kv = {layout->layers[0], 0, {&segment, 1}};
    args.scale = 0.2f;
    args.softcap = s.softcap;
    args.window = s.window;
    args.causal = s.causal;
    args.sinks = s.sinks ? &sinks : nullptr;
    args.slopes = s.slopes ? &slopes : nullptr;
    backend.kv_write(args.kv, k.slice(0, at, at + count).clone(), v.slice(0, at, at + count).clone());
    Tensor part = Tensor::empty({count, out.cols()});
    backend.attention(args, q.slice(0, at, at + count).clone(), s.heads, part);
    std::memcpy(out.data<float>() + at * out.cols(), part.data<float>(), part.nbytes());
    kv.advance(count);
  }
  return out;
}

std::vector<Setup> setups() {
  std::vector<Setup> list;
  for (const KvKind kind : {KvKind::f16, KvKind::f32, KvKind::q8_0}) {
    list.push_back({.kind = kind});
    list.push_back({.kind = kind, .window = 20});
    list.push_back({.kind = kind, .window = 70, .softcap = 3.0f, .sinks = true});
    list.push_back({.heads = 4, .kv_heads = 4, .head_dim = 64, .value_dim = 32, .kind = kind, .slopes = true});
  }
  list.push_back({.heads = 3, .kv_heads = 1, .head_dim = 20, .value_dim = 12});
  list.push_back({.heads = 9, .kv_heads = 3, .head_dim = 8, .value_dim = 40, .kind = KvKind::f16});
  return list;
}

}  // namespace

TEST_CASE("attention agrees with double precision for every cache kind and feature", "[kernels]") {
  const auto reference = make_backend("reference"), cpu = make_backend("cpu");
  for (const Setup& s : setups()) {
    INFO("kind " << static_cast<int>(s.kind) << " window " << s.window << " heads " << s.heads << " dim " << s.head_dim);
    const Tensor a = attend(*cpu, s, 150, 150), b = attend(*reference, s, 150, 150);
    double worst = 0;
    for (std::int64_t i = 0; i < a.numel(); ++i)
      worst = std::max(worst, std::fabs(static_cast<double>(a.data<float>()[i]) - b.data<float>()[i]));
    CHECK(worst < 2e-4);  // values reach 30
  }
}

TEST_CASE("attention has the same bits for any chunking, threads and instruction set", "[kernels][slow]") {
  for (const Setup& s : setups()) {
    const Tensor want = attend(*make_backend("cpu", {.threads = 1, .isa = "scalar"}), s, 150, 150);
    for (const auto* isa : runnable_isas())
      for (const std::int64_t chunk : {1, 7, 64, 65, 150}) {
        INFO(isa->name << " chunk " << chunk << " kind " << static_cast<int>(s.kind) << " window " << s.window);
        REQUIRE(same_bits(want, attend(*make_backend("cpu", {.threads = 3, .isa = isa->name}), s, 150, chunk)));
      }
  }
}

TEST_CASE("a long context in parts, page by page, has the bits of one pass", "[kernels]") {
  for (const KvKind kind : {KvKind::f16, KvKind::f32, KvKind::q8_0})
    for (const Setup& s :
         {Setup{.heads = 3, .kv_heads = 1, .kind = kind, .sinks = true}, Setup{.kind = kind, .window = 530, .slopes = true}}) {
      const Tensor want = attend(*make_backend("cpu", {.threads = 1}), s, 600, 600);
      for (const auto* isa : runnable_isas())
        for (const int threads : {2, 7}) {
          INFO(isa->name << " threads " << threads << " kind " << static_cast<int>(kind) << " window " << s.window);
          REQUIRE(same_bits(want, attend(*make_backend("cpu", {.threads = threads, .isa = isa->name}), s, 600, isa->lanes == 1 ? 5 : 1)));
        }
    }
}

TEST_CASE("without a causal mask every position of the segment is seen", "[kernels]") {
  const Setup s{.causal = false};
  const Tensor a = attend(*make_backend("cpu"), s, 70, 70), b = attend(*make_backend("reference"), s, 70, 70);
  for (std::int64_t i = 0; i < a.numel(); ++i) REQUIRE(a.data<float>()[i] == Approx(b.data<float>()[i]).margin(2e-4));
}

TEST_CASE("a recycled page's poison never enters", "[kernels]") {
  const auto backend = make_backend("cpu");
  const Setup s{.kind = KvKind::f16, .window = 9};
  const Tensor want = attend(*backend, s, 100, 10);
  {  // fill the arena's blocks with NaN, so that new pages hold it
    std::vector<Tensor> blocks;
    for (int i = 0; i < 40; ++i) {
      blocks.push_back(Tensor::empty({64 * 1024}));
      for (float& x : blocks.back().span<float>()) x = NAN;
    }
    for (int i = 0; i < 40; ++i) {
      blocks.push_back(Tensor::empty({8192}));
      for (float& x : blocks.back().span<float>()) x = NAN;
    }
  }
  REQUIRE(same_bits(want, attend(*backend, s, 100, 10)));
}

TEST_CASE("keys beyond half range are refused by name, with the way out", "[kernels]") {
  for (const char* device : {"cpu", "reference"}) {
    const auto backend = make_backend(device);
    const auto layout = std::make_shared<model::PageLayout>(*backend, std::vector<KvLayout>{{KvKind::f16, 1, 8, 8}});
    model::KvSequence kv(layout);
    kv.reserve(1);
    const KvSegment segment{0, 1, 0, 0, kv.pages()};
    Tensor k = Tensor::zeros({1, 8}), v = Tensor::zeros({1, 8});
    k.data<float>()[5] = 70000.0f;
    try {
      backend->kv_write({layout->layers[0], 0, {&segment, 1}}, k, v);
      FAIL("no error");
    } catch (const Error& e) {
      CHECK(e.kind() == ErrorKind::numeric);
      CHECK(e.hint().find("--kv f32") != std::string::npos);
    }
  }
}
