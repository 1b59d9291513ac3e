// SPDX-License-Identifier: Apache-2.0
// Attention's gradient: grouped heads, windows, softcap, sinks, ALiBi, several segments, every cache kind.
#include "hanzo/model/kv_cache.hpp"
#include "tests/autograd/gradcheck.hpp"
#include "tests/kernels/isas.hpp"

using namespace hz;
using namespace hz::test;

namespace {

struct Case {
  const char* name;
  std::int64_t window = 0;
  float softcap = 0;
  bool sinks = false, slopes = false, causal = true;
  int heads = 4, kv_heads = 2, head_dim = 32, value_dim = 32;
};

// Two sequences side by side: 70 and 5 tokens, the second after a prefix of 3 constant positions.
struct Setup {
  Case c;
  std::int64_t rows = 75;
  Tensor q, k, v, sinks, slopes;
  explicit Setup(const Case& spec) : c(spec) {
    q = random_tensor({rows, c.heads * c.head_dim}, 1);
    k = random_tensor({rows, c.kv_heads * c.head_dim}, 2);
    v = random_tensor({rows, c.kv_heads * c.value_dim}, 3);
    sinks = random_tensor({c.heads}, 4);
    slopes = random_tensor({c.heads}, 5);
  }
  std::vector<Tensor> inputs() const { return c.sinks ? std::vector<Tensor>{q, k, v, sinks} : std::vector<Tensor>{q, k, v}; }

  Tensor run(Backend& backend, KvKind kind, std::span<const Tensor> in) const {
    const auto layout = std::make_shared<model::PageLayout>(backend, std::vector<KvLayout>{{kind, c.kv_heads, c.head_dim, c.value_dim}});
    model::KvSequence first(layout), second(layout);
    first.reserve(70);
    second.reserve(3);
    const Tensor prefix_k = random_tensor({3, k.cols()}, 6), prefix_v = random_tensor({3, v.cols()}, 7);
    const KvSegment prefix{0, 3, 0, 0, second.pages()};
    kv_write({layout->layers[0], 0, {&prefix, 1}}, prefix_k.on(backend.device()), prefix_v.on(backend.device()));
    second.advance(3);
    second.reserve(5);
    const auto one = first.pin(), two = second.pin();
    const KvSegment segments[] = {{0, 70, 0, 0, one->bases.data(), one}, {70, 5, 3, 0, two->bases.data(), two}};
    AttentionArgs args;
    args.kv = {layout->layers[0], 0, segments};
    args.scale = 0.3f;
    args.softcap = c.softcap;
    args.window = c.window;
    args.causal = c.causal;
    args.k = &in[1];
    args.v = &in[2];
    if (c.sinks) args.sinks = &in[3];
    if (c.slopes) args.slopes = &slopes;
    kv_write(args.kv, in[1], in[2]);
    return attention(args, in[0], c.heads);
  }
};

std::vector<Tensor> on(Backend& backend, std::span<const Tensor> inputs) {
  std::vector<Tensor> moved;
  for (const Tensor& t : inputs) moved.push_back(t.on(backend.device()));
  return moved;
}

const Case kCases[] = {
    {"causal"},
    {"one group", 0, 0, false, false, true, 4, 4, 16, 16},
    {"window", 9},
    {"softcap", 0, 2.0f},
    {"sinks", 0, 0, true},
    {"alibi", 0, 0, false, true},
    {"not causal", 0, 0, false, false, false},
    {"odd sizes", 13, 3.0f, true, true, true, 6, 2, 20, 12},
};

}  // namespace

TEST_CASE("attention's gradients equal differences, and those of the reference on every set", "[ops][gradients][slow]") {
  for (const Case& c : kCases) {
    const Setup s(c);
    const auto reference = make_backend("reference");
    const auto f = [&](Backend& b, KvKind kind) { return [&s, &b, kind](std::span<const Tensor> in) { return s.run(b, kind, in); }; };
    INFO(c.name);
    check_differences(f(*reference, KvKind::f32), on(*reference, s.inputs()), 5e-3, 1e-2f);
    for (const KvKind kind : {KvKind::f32, KvKind::f16, KvKind::q8_0}) {
      if (kind == KvKind::q8_0 && (c.head_dim % 32 != 0 || c.value_dim % 32 != 0)) continue;
      const auto want = gradients_of(f(*reference, kind), on(*reference, s.inputs()));
      std::vector<Tensor> first;
      for (const auto* isa : runnable_isas())
        for (const int threads : {1, 3}) {
          const auto cpu = make_backend("cpu", {.threads = threads, .isa = isa->name});
          const auto got = gradients_of(f(*cpu, kind), on(*cpu, s.inputs()));
          for (std::size_t i = 0; i < got.size(); ++i) {
            INFO(isa->name << " threads " << threads << " kind " << static_cast<int>(kind) << " input " << i);
            CHECK(distance(got[i], want[i]) <= 1e-4);
            if (!first.empty()) CHECK(std::memcmp(got[i].raw(), first[i].raw(), got[i].nbytes()) == 0);
          }
          if (first.empty()) first = got;
        }
    }
  }
}

TEST_CASE("a tape's forward gives the bits of attention without one", "[ops][gradients]") {
  const Setup s(kCases[7]);
  const auto cpu = make_backend("cpu");
  const auto in = on(*cpu, s.inputs());
  const Tensor plain = s.run(*cpu, KvKind::f16, in);
  const Var q(in[0]);
  Tape tape;
  std::vector<Tensor> tracked{q.tensor(), in[1], in[2], in[3]};
  const Tensor recorded = s.run(*cpu, KvKind::f16, tracked);
  CHECK(recorded.grad_id() != 0);
  CHECK(std::memcmp(plain.raw(), recorded.raw(), plain.nbytes()) == 0);
}
