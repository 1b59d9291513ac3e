// SPDX-License-Identifier: Apache-2.0
// Microbenchmarks: multiply-adds per second and core of the products and of attention, beside the machine's peaks.
// One thread; run as `HANZO_ISA=avx2 bench/hz-bench-kernels --benchmark_filter=q4_0`.
#include <benchmark/benchmark.h>

#include <cstdlib>

#include "hanzo/model/kv_cache.hpp"
#include "tests/random.hpp"
#include "src/backend/cpu/isa.hpp"

using namespace hz;

namespace {

constexpr float kLeast = 1e-6f;  // size of a weight

std::string isa() {
  const char* name = std::getenv("HANZO_ISA");
  return name ? name : "";
}

void report(benchmark::State& state, double macs) {
  state.counters["GMAC/s"] = benchmark::Counter(macs * static_cast<double>(state.iterations()) / 1e9, benchmark::Counter::kIsRate);
}

// [rows, cols] weights against `tokens` activations.
void product(benchmark::State& state, WType type, std::int64_t rows, std::int64_t cols, std::int64_t tokens, bool pack) {
  const auto backend = make_backend("cpu", {.threads = 1, .isa = isa(), .pack = pack, .expand_bytes = UINT64_MAX});
  const QTensor w = test::random_weights(type, {rows, cols}, 1, kLeast);
  const Tensor x = test::random_tensor({tokens, cols}, 2);
  Tensor y = Tensor::empty({tokens, rows});
  QAct q = QAct::empty(tokens, cols);
  backend->quantize(x, q);
  LinearJob job{.w = &w, .y = &y};
  if (quant::info(type).floating) job.x = &x;
  else job.q = &q;
  backend->linear({&job, 1});
  for (auto _ : state) backend->linear({&job, 1});
  report(state, static_cast<double>(rows * cols * tokens));
  state.counters["GB/s"] =
      benchmark::Counter(static_cast<double>(w.nbytes()) * static_cast<double>(state.iterations()) / 1e9, benchmark::Counter::kIsRate);
}

// dX [tokens, cols] = dY * W on the way back.
void input_grad(benchmark::State& state, WType type, std::int64_t rows, std::int64_t cols, std::int64_t tokens, bool pack) {
  const auto backend = make_backend("cpu", {.threads = 1, .isa = isa(), .pack = pack, .expand_bytes = UINT64_MAX});
  const QTensor w = test::random_weights(type, {rows, cols}, 1, kLeast);
  const Tensor dy = test::random_tensor({tokens, rows}, 2);
  Tensor dx = Tensor::empty({tokens, cols});
  const InputGradJob job{.w = &w, .dy = &dy};
  backend->linear_input_grad({&job, 1}, dx);
  for (auto _ : state) backend->linear_input_grad({&job, 1}, dx);
  report(state, static_cast<double>(rows * cols * tokens));
}

// Causal attention of `tokens` new positions after `depth` old ones; counts the visible multiply-adds.
void attention(benchmark::State& state, KvKind kind, int heads, int kv_heads, int dim, std::int64_t depth, std::int64_t tokens) {
  const auto backend = make_backend("cpu", {.threads = 1, .isa = isa()});
  const auto layout = std::make_shared<model::PageLayout>(*backend, std::vector<KvLayout>{{kind, kv_heads, dim, dim}});
  model::KvSequence kv(layout);
  const std::int64_t n = depth + tokens;
  kv.reserve(n);
  const Tensor k = test::random_tensor({n, kv_heads * dim}, 1), v = test::random_tensor({n, kv_heads * dim}, 2),
               q = test::random_tensor({tokens, heads * dim}, 3);
  const KvSegment all{0, n, 0, 0, kv.pages()}, last{0, tokens, depth, 0, kv.pages()};
  backend->kv_write({layout->layers[0], 0, {&all, 1}}, k, v);
  AttentionArgs args;
  args.kv = {layout->layers[0], 0, {&last, 1}};
  args.scale = 0.125f;
  Tensor y = Tensor::empty({tokens, heads * dim});
  for (auto _ : state) backend->attention(args, q, heads, y);
  double visible = 0;
  for (std::int64_t t = 0; t < tokens; ++t) visible += static_cast<double>(depth + t + 1);
  report(state, 2.0 * heads * dim * visible);
}

void fma_peak(benchmark::State& state) {
  double macs = 0;
  const auto& k = cpu::select_isa(isa());
  for (auto _ : state) macs += k.fma_peak();
  state.counters["GMAC/s"] = benchmark::Counter(macs / 1e9, benchmark::Counter::kIsRate);
}
void dot_peak(benchmark::State& state) {
  double macs = 0;
  const auto& k = cpu::select_isa(isa());
  for (auto _ : state) macs += k.dot_peak();
  state.counters["GMAC/s"] = benchmark::Counter(macs / 1e9, benchmark::Counter::kIsRate);
}

}  // namespace

int main(int argc, char** argv) {
  benchmark::RegisterBenchmark("peak/fma", fma_peak);
  benchmark::RegisterBenchmark("peak/int8_dot", dot_peak);
  for (const quant::FormatInfo& f : quant::formats()) {
    if (!f.weight) continue;
    for (const std::int64_t tokens : {512, 8, 1})
      benchmark::RegisterBenchmark((std::string(f.name) + "/1536x768/" + std::to_string(tokens)).c_str(), product, f.type,
                                   std::int64_t{1536}, std::int64_t{768}, tokens, true);
    benchmark::RegisterBenchmark((std::string(f.name) + "/1536x768/1/no-pack").c_str(), product, f.type, std::int64_t{1536},
                                 std::int64_t{768}, std::int64_t{1}, false);
  }
  for (const quant::FormatInfo& f : quant::formats())
    for (const bool pack : {true, false})
      if (f.weight)
        benchmark::RegisterBenchmark(("input_grad/" + std::string(f.name) + (pack ? "" : "/no-pack")).c_str(), input_grad, f.type,
                                     std::int64_t{1536}, std::int64_t{768}, std::int64_t{512}, pack);
  const std::pair<KvKind, const char*> kinds[] = {{KvKind::f16, "f16"}, {KvKind::f32, "f32"}, {KvKind::q8_0, "q8_0"}};
  for (const auto& [kind, name] : kinds)
    for (const int dim : {64, 128}) {
      benchmark::RegisterBenchmark(("attention/" + std::string(name) + "/dim" + std::to_string(dim) + "/causal512").c_str(), attention,
                                   kind, 9, 3, dim, std::int64_t{0}, std::int64_t{512});
      benchmark::RegisterBenchmark(("attention/" + std::string(name) + "/dim" + std::to_string(dim) + "/depth4096").c_str(), attention,
                                   kind, 9, 3, dim, std::int64_t{4096}, std::int64_t{1});
    }
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
