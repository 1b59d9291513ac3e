// SPDX-License-Identifier: Apache-2.0
// kernel-hashes: one line for each kernel, its name and a hash of what it computes. Fails where two instruction sets that this
// machine can run differ. Two processors agree where the lines do (scripts/aarch64.sh); linked with the kernels alone.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "hanzo/core/error.hpp"
#include "hanzo/core/random.hpp"
#include "hanzo/quant/format/decode.h"
#include "hanzo/quant/visit.hpp"
#include "kernels/cpu/format.hpp"
#include "kernels/cpu/isa_list.hpp"
#include "src/backend/cpu/isa.hpp"
#include "tests/kernels/fnv.hpp"

using namespace hz;
using cpu::CpuKernels;

namespace {

using Floats = std::vector<float>;

// Values in (-1, 1) with a few large ones.
Floats numbers(std::int64_t n, std::uint64_t seed) {
  Floats v;
  for (std::uint64_t i = 0; i < static_cast<std::uint64_t>(n); ++i)
    v.push_back((2 * uniform(seed, 1, i) - 1) * (uniform(seed, 2, i) < 0.02f ? 30.0f : 1.0f));
  return v;
}

// What every set has to equal: the first that gave a name its hash.
class Hashes {
 public:
  void add(const CpuKernels& set, const std::string& name, const Floats& values) {
    const std::uint64_t hash = test::fnv1a(values);
    const auto [known, fresh] = seen_.emplace(name, hash);
    if (fresh) std::printf("%s %016llx\n", name.c_str(), static_cast<unsigned long long>(hash));
    if (known->second == hash) return;
    std::fprintf(stderr, "%s: the %s set differs\n", name.c_str(), set.name);
    ++different_;
  }
  int different() const { return different_; }

 private:
  std::map<std::string, std::uint64_t> seen_;
  int different_ = 0;
};

constexpr int kTokens = 7, kRows = 16;

// Sixteen rows of k weights: any bytes that are finite.
template <class W>
std::vector<typename W::Block> random_rows(std::int64_t k) {
  std::vector<typename W::Block> rows(static_cast<std::size_t>(kRows * k / W::kElems));
  std::uint64_t draw = 0;
  for (auto& block : rows) do {
      std::byte raw[sizeof block];
      for (std::byte& b : raw) b = static_cast<std::byte>(philox(7, 0, draw++)[0] & 255u);
      std::memcpy(&block, raw, sizeof block);
    } while (!W::finite(block));
  return rows;
}

// y[t][16] of kTokens tokens.
template <class F>
Floats product(F f) {
  Floats y(kTokens * kRows);
  float* rows[kTokens];
  for (int t = 0; t < kTokens; ++t) rows[t] = y.data() + t * kRows;
  f(rows);
  return y;
}

template <class W>
void integer_format(const CpuKernels& set, const cpu::FormatKernels& f, const std::string& name, Hashes& out) {
  const std::int64_t k = W::kElems >= 64 ? 2 * W::kElems : 128;
  const auto weights = random_rows<W>(k);
  const auto* bytes = reinterpret_cast<const std::byte*>(weights.data());
  const auto size = static_cast<std::size_t>(k), stride = size / W::kElems * sizeof(typename W::Block);
  const Floats x = numbers(kTokens * k, 8);
  std::vector<std::int8_t> codes(kTokens * size);
  Floats scales(kTokens * size / 32), dw(size), mw(size), decoded(size * kRows);
  std::vector<std::int32_t> sums(kTokens * size / 16), sub(4 * size);
  std::vector<std::uint8_t> panel_codes(size * kRows);
  set.quantize(x.data(), kTokens * k, codes.data(), scales.data(), sums.data());
  std::vector<cpu::ActRow> act;
  for (int t = 0; t < kTokens; ++t) act.push_back({codes.data() + t * k, scales.data() + t * k / 32, sums.data() + t * k / 16});

  cpu::IntPanel panel{panel_codes.data(), dw.data(), mw.data(), sub.data(), 0, 0};
  std::vector<std::byte> acts(kTokens * size / 32 * f.act_bytes);
  f.pack_acts(act.data(), kTokens, k / 32, acts.data());
  const auto tile = [&](float* const* y) { f.tile(panel, acts.data(), k / 32, 0, kTokens, y, false); };
  out.add(set, "product " + name, product([&](float* const* y) { f.matvec_rows(bytes, stride, kRows, k, act.data(), kTokens, y); }));
  f.expand(bytes, stride, kRows, 0, k, panel);
  out.add(set, "product " + name, product(tile));
  f.expand_float(bytes, stride, kRows, 0, k, decoded.data());
  out.add(set, "decode " + name, decoded);
  if (f.packed_unit == 0) return;
  std::vector<std::byte> packed(f.packed_bytes * size / static_cast<std::size_t>(f.packed_unit));
  f.pack(bytes, stride, kRows, k, packed.data());
  out.add(set, "product " + name, product([&](float* const* y) { f.matvec_packed(packed.data(), k, act.data(), kTokens, y); }));
  if (kTokens <= f.packed_tile_tokens)
    out.add(set, "product " + name, product([&](float* const* y) { f.packed_tile(packed.data(), k, acts.data(), kTokens, y); }));
  f.expand_packed(packed.data(), 0, k, panel);
  out.add(set, "product " + name, product(tile));
  f.expand_float_packed(packed.data(), 0, k, decoded.data());
  out.add(set, "decode " + name, decoded);
}

template <class W>
void float_format(const CpuKernels& set, const cpu::FormatKernels& f, const std::string& name, Hashes& out) {
  constexpr std::int64_t k = 75;
  const auto weights = random_rows<W>(k);
  const auto* bytes = reinterpret_cast<const std::byte*>(weights.data());
  const std::size_t stride = k * sizeof(typename W::Block);
  const Floats x = numbers(kTokens * k, 9);
  std::vector<std::byte> packed(f.packed_bytes * k);
  Floats decoded(k * kRows);
  const float* tokens[kTokens];
  for (int t = 0; t < kTokens; ++t) tokens[t] = x.data() + t * k;
  f.pack(bytes, stride, kRows, k, packed.data());
  Floats acts(kTokens * k);
  set.pack_float_acts(tokens, k, kTokens, acts.data());
  for (const bool from_panel : {false, true}) {
    if (from_panel) f.expand_float_packed(packed.data(), 0, k, decoded.data());
    else f.expand_float(bytes, stride, kRows, 0, k, decoded.data());
    out.add(set, "decode " + name, decoded);
    out.add(set, "product " + name,
            product([&](float* const* y) { set.float_tile(decoded.data(), 1, acts.data(), k, 0, k, kTokens, y, false); }));
  }
  out.add(set, "product " + name, product([&](float* const* y) {
            for (int t = 0; t < kTokens; ++t) f.float_matvec(packed.data(), packed.size(), 1, k, tokens[t], y[t]);
          }));
}

void formats(const CpuKernels& set, Hashes& out) {
  quant::for_each_wtype([&]<class W>(quant::tag<W>, const char* name, std::uint32_t id) {
    if constexpr (W::kFloating) float_format<W>(set, *set.format(id), name, out);
    else integer_format<W>(set, *set.format(id), name, out);
  });
}

void functions(const CpuKernels& set, Hashes& out) {
  const Floats x = numbers(10000, 10), ones(x.size(), 1.0f);
  Floats y(x.size());
  const auto n = static_cast<std::int64_t>(x.size());
  for (const auto kind : {Unary::silu, Unary::gelu_tanh, Unary::gelu_erf, Unary::gelu_quick, Unary::tanh, Unary::sigmoid, Unary::exp,
                          Unary::log, Unary::relu, Unary::relu2, Unary::neg}) {
    set.unary(kind, x.data(), n, y.data());
    out.add(set, "function " + std::to_string(static_cast<int>(kind)), y);
    set.unary_grad(kind, x.data(), ones.data(), n, y.data());
    out.add(set, "slope " + std::to_string(static_cast<int>(kind)), y);
  }
  set.rms_norm(x.data(), nullptr, n - 3, 1e-5f, y.data());
  out.add(set, "rms_norm", y);
  set.layer_norm(x.data(), nullptr, nullptr, n - 3, 1e-5f, y.data());
  out.add(set, "layer_norm", y);
}

// A sequence of 150 positions in pages, and its last 24 queries: every other with a window of 70.
struct Sequence {
  static constexpr int kPositions = 150, kQueries = 24, kDim = 96;
  std::vector<Floats> pages;
  std::vector<const std::byte*> at;
  Floats q = numbers(kQueries * kDim, 11), o = Floats(kQueries * kDim), stats = Floats(2 * kQueries);
  float sink = 0.3f;
  std::vector<cpu::AttendQuery> queries;
  cpu::AttendArgs args{};

  Sequence(const CpuKernels& set, KvKind kind, float softcap, float slope) {
    constexpr std::size_t half = 64 * (kDim + 16);  // floats of K, or V, of the widest kind
    for (int p = 0; p * 64 < kPositions; ++p) pages.emplace_back(2 * half, NAN);
    for (Floats& page : pages) at.push_back(reinterpret_cast<const std::byte*>(page.data()));
    for (int i = 0; i < kPositions; ++i) {
      const Floats k = numbers(kDim, 1000 + static_cast<std::uint64_t>(i)), v = numbers(kDim, 2000 + static_cast<std::uint64_t>(i));
      float* page = pages[static_cast<std::size_t>(i / 64)].data();
      auto *page_k = reinterpret_cast<std::byte*>(page), *page_v = reinterpret_cast<std::byte*>(page + half);
      set.kv_write(kind, k.data(), v.data(), kDim, kDim, i % 64, page_k, page_v);
    }
    args = {kind, kDim, kDim, 0.125f, softcap, at.data(), 0, half * sizeof(float)};
    for (int i = 0; i < kQueries; ++i) {
      const int position = kPositions - kQueries + i;
      queries.push_back({q.data() + i * kDim, o.data() + i * kDim, i % 2 == 0 ? 0 : position - 70, position + 1, slope, position, &sink,
                         stats.data() + 2 * i});
    }
  }
};

void attention(const CpuKernels& set, KvKind kind, float softcap, float slope, const std::string& name, Hashes& out) {
  constexpr int n = Sequence::kQueries, dim = Sequence::kDim;
  Sequence s(set, kind, softcap, slope);
  set.attend(s.args, s.queries.data(), n);
  out.add(set, "attention " + name, s.o);
  const Floats dout = numbers(n * dim, 12);
  std::vector<const float*> outs, douts;
  for (int i = 0; i < n; ++i) {
    outs.push_back(s.o.data() + i * dim);
    douts.push_back(dout.data() + i * dim);
  }
  struct alignas(64) Line {
    std::byte bytes[64];
  };
  std::vector<Line> scratch(set.attend_grad_bytes / sizeof(Line) + 1);
  Floats grads(3 * n * dim + 1);
  float* g = grads.data();
  set.attend_grad(s.args, {s.queries.data(), outs.data(), douts.data(), n, Sequence::kPositions - n, g, g + n * dim, g + 2 * n * dim,
                           g + 3 * n * dim, scratch.data()});
  out.add(set, "attention gradient " + name, grads);
}

}  // namespace

int main() {
  Hashes out;
  for (const CpuKernels* k : cpu::isa_list()) {
    try {
      cpu::select_isa(k->name);
    } catch (const Error&) {
      std::fprintf(stderr, "this machine cannot run the %s set\n", k->name);
      continue;
    }
    formats(*k, out);
    functions(*k, out);
    for (const auto& [kind, name] : {std::pair{KvKind::f16, "f16"}, std::pair{KvKind::f32, "f32"}, std::pair{KvKind::q8_0, "q8_0"}}) {
      attention(*k, kind, 0.0f, 0.0f, name, out);
      attention(*k, kind, 20.0f, 0.25f, std::string(name) + " softcap alibi", out);
    }
  }
  return out.different() == 0 ? 0 : 1;
}
