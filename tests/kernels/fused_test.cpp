// SPDX-License-Identifier: Apache-2.0
// Fused stages equal their parts bit for bit, on every instruction set and any thread count.
#include "hanzo/model/kv_cache.hpp"
#include "hanzo/nn/linear.hpp"
#include "tests/catch.hpp"
#include "tests/kernels/isas.hpp"
#include "tests/random.hpp"

using namespace hz;
using namespace hz::test;

namespace {

void require_same(const QAct& a, const QAct& b) {
  REQUIRE(std::memcmp(a.codes.raw(), b.codes.raw(), a.codes.nbytes()) == 0);
  REQUIRE(std::memcmp(a.scales.raw(), b.scales.raw(), a.scales.nbytes()) == 0);
  REQUIRE(std::memcmp(a.sums.raw(), b.sums.raw(), a.sums.nbytes()) == 0);
}

std::vector<std::shared_ptr<Backend>> backends() {
  std::vector<std::shared_ptr<Backend>> list{make_backend("reference")};
  for (const auto* isa : runnable_isas())
    for (const int threads : {1, 3}) list.push_back(make_backend("cpu", {.threads = threads, .isa = isa->name}));
  return list;
}

}  // namespace

TEST_CASE("residual, norm and quantize in one stage equal the three parts", "[kernels]") {
  for (const auto& backend : backends())
    for (const std::int64_t rows : {1, 3, 70})
      for (const NormKind kind : {NormKind::rms, NormKind::layer})
        for (const bool residual : {true, false}) {
          INFO(backend->description() << " rows " << rows << " residual " << residual);
          const Tensor a = random_tensor({rows, 96}, 1), d = random_tensor({rows, 96}, 2), w = random_tensor({96}, 3),
                       b = random_tensor({96}, 4);
          const NormArgs norm{kind, &w, &b, 1e-5f};
          Tensor sum = a, part = Tensor::empty(a.shape());
          if (residual) {
            sum = Tensor::empty(a.shape());
            backend->add(a, d, sum);
          }
          if (kind == NormKind::rms) backend->rms_norm(sum, w, 1e-5f, part);
          else backend->layer_norm(sum, w, b, 1e-5f, part);
          QAct codes = QAct::empty(rows, 96);
          backend->quantize(part, codes);
          Tensor x = a.on(backend->device());
          const nn::Activation both = nn::norm_stage(x, residual ? &d : nullptr, norm, {true, true});
          REQUIRE(same_bits(x, sum));
          REQUIRE(same_bits(both.x(), part));
          require_same(both.q(), codes);
          Tensor again = a.on(backend->device());
          const nn::Activation only = nn::norm_stage(again, residual ? &d : nullptr, norm, {false, true});
          require_same(only.q(), codes);
          CHECK_THROWS_AS(only.x(), Error);
        }
}

TEST_CASE("gated activation and quantize in one stage equal the two parts", "[kernels]") {
  for (const auto& backend : backends()) {
    const Tensor g = random_tensor({5, 64}, 5).on(backend->device()), u = random_tensor({5, 64}, 6).on(backend->device());
    for (const Unary f : {Unary::silu, Unary::gelu_tanh}) {
      Tensor y = Tensor::empty(g.shape());
      QAct codes = QAct::empty(5, 64);
      backend->glu(f, g, u, y);
      backend->quantize(y, codes);
      const nn::Activation a = nn::glu_stage(f, g, u, {true, true}), only = nn::glu_stage(f, g, u, {false, true});
      REQUIRE(same_bits(a.x(), y));
      require_same(a.q(), codes);
      require_same(only.q(), codes);
    }
  }
}

TEST_CASE("attention and quantize in one stage equal the two parts, whole groups or not", "[kernels]") {
  for (const auto& backend : backends())
    for (const int dim : {32, 16, 8}) {
      const int heads = 8, kv_heads = dim == 8 ? 4 : 2;  // 4, 4 and 2 heads of a group: 128, 64 and 16 wide
      const std::int64_t n = 21;
      const auto layout = std::make_shared<model::PageLayout>(*backend, std::vector<KvLayout>{{KvKind::f16, kv_heads, dim, dim}});
      model::KvSequence kv(layout);
      kv.reserve(n);
      const KvSegment segment{0, n, 0, 0, kv.pages()};
      AttentionArgs args;
      args.kv = {layout->layers[0], 0, {&segment, 1}};
      backend->kv_write(args.kv, random_tensor({n, kv_heads * dim}, 7), random_tensor({n, kv_heads * dim}, 8));
      const Tensor q = random_tensor({n, heads * dim}, 9).on(backend->device());
      Tensor y = Tensor::empty({n, heads * dim});
      QAct codes = QAct::empty(n, heads * dim);
      backend->attention(args, q, heads, y);
      backend->quantize(y, codes);
      const nn::Activation a = nn::attention_stage(args, q, heads, {true, true});
      INFO(backend->description() << " dim " << dim);
      REQUIRE(same_bits(a.x(), y));
      require_same(a.q(), codes);
    }
}
