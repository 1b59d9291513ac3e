// SPDX-License-Identifier: Apache-2.0
// Every format in every instruction set: the same bits as the scalar rule, packed or not, whatever the tile.
#include "hanzo/backend/backend.hpp"
#include "hanzo/ops/ops.hpp"
#include "kernels/cpu/format.hpp"
#include "tests/catch.hpp"
#include "tests/kernels/isas.hpp"
#include "tests/random.hpp"

using namespace hz;
using namespace hz::test;

namespace {

// One product on one backend; int8 activations for block formats when `integer`.
Tensor product(Backend& backend, const QTensor& w, const Tensor& x, bool integer) {
  Tensor y = Tensor::zeros({x.rows(), w.rows()});
  QAct q;
  LinearJob job{.w = &w, .y = &y};
  if (integer) {
    q = QAct::empty(x.rows(), x.cols());
    backend.quantize(x, q);
    job.q = &q;
  } else {
    job.x = &x;
  }
  backend.linear({&job, 1});
  return y;
}

// The contract, written out for one output: NUMERICS' rule on the decoded integers.
float rule(const QTensor& w, std::int64_t row, const QAct& q, std::int64_t token) {
  const auto* codes = q.codes.data<std::int8_t>() + token * q.cols();
  const auto* dx = q.scales.data<float>() + token * (q.cols() / 32);
  return quant::visit(w.wtype(), [&]<class W>(quant::tag<W>) -> float {
    float y = 0;
    if constexpr (!W::kFloating) {
      for (std::int64_t k = 0; k < w.cols(); k += W::kStep) {
        const auto& b = *(reinterpret_cast<const typename W::Block*>(w.row(row)) + k / W::kElems);
        const int j = static_cast<int>(k % W::kElems) / W::kStep;
        std::int8_t v[W::kStep];
        W::codes(b, j, v);
        const quant::GroupScales g = W::scales(b, j);
        std::int64_t whole = 0, sum[2] = {0, 0};
        for (int i = 0; i < W::kStep; ++i) {
          const int half = 2 * i >= W::kStep;
          whole += (W::kSub ? (half ? g.s1 : g.s0) : 1) * v[i] * codes[k + i];
          sum[half] += codes[k + i];
        }
        const float d = dx[k / 32];
        y = std::fma(static_cast<float>(whole), g.dw * d, y);
        if constexpr (W::kMin == quant::Min::per_group) y = std::fma(g.mw, static_cast<float>(sum[0] + sum[1]) * d, y);
        if constexpr (W::kMin == quant::Min::per_half) y = std::fma(static_cast<float>(g.m0 * sum[0] + g.m1 * sum[1]), g.mw * d, y);
      }
    }
    return y;
  });
}

// The same for float weights: one fma a column, ascending.
float rule(const QTensor& w, std::int64_t row, const Tensor& x, std::int64_t token) {
  const float* in = x.data<float>() + token * w.cols();
  return quant::visit(w.wtype(), [&]<class W>(quant::tag<W>) -> float {
    float y = 0;
    if constexpr (W::kFloating)
      for (std::int64_t k = 0; k < w.cols(); ++k)
        y = std::fma(W::value(reinterpret_cast<const typename W::Block*>(w.row(row))[k]), in[k], y);
    return y;
  });
}

// Outputs whose bits are not the rule's.
std::int64_t wrong(const QTensor& w, const auto& x, const Tensor& y) {
  std::int64_t bad = 0;
  for (std::int64_t t = 0; t < y.rows(); ++t)
    for (std::int64_t r = 0; r < w.rows(); ++r) {
      const float expected = rule(w, r, x, t);
      bad += std::memcmp(&expected, y.data<float>() + t * w.rows() + r, 4) != 0;
    }
  return bad;
}

}  // namespace

TEST_CASE("integer products equal the rule of the contract bit for bit in every format and instruction set", "[kernels][slow]") {
  for (const auto* isa : runnable_isas())
    for (const quant::FormatInfo& f : quant::formats()) {
      if (f.floating) continue;
      const std::int64_t cols = std::max(64, f.block_elems) * 2;
      for (const std::int64_t rows : {5, 16, 37}) {
        const QTensor w = random_weights(f.type, {rows, cols}, static_cast<std::uint64_t>(rows));
        for (const std::int64_t tokens : {1, 2, 3, 5, 8, 13, 17}) {
          const Tensor x = random_tensor({tokens, cols}, static_cast<std::uint64_t>(tokens));
          for (const bool pack : {true, false}) {
            INFO(isa->name << " " << f.name << " rows " << rows << " tokens " << tokens << " pack " << pack);
            const auto backend = make_backend("cpu", {.threads = 2, .isa = isa->name, .pack = pack, .expand_bytes = UINT64_MAX});
            const QTensor own =
                pack ? random_weights(f.type, {rows, cols}, static_cast<std::uint64_t>(rows)) : w;  // a packed form belongs to one set
            const Tensor y = product(*backend, own, x, true);
            QAct q = QAct::empty(tokens, cols);
            backend->quantize(x, q);
            REQUIRE(wrong(w, q, y) == 0);
          }
        }
      }
    }
}

// Tiles of every size, columns of several slabs, and one packing of the activations for all weights that read it alike.
TEST_CASE("products computed in one call, over the same rows and others, equal those of a token alone", "[kernels]") {
  constexpr std::int64_t kCols = 2304, kMost = 31;
  const auto make_weights = [] {
    std::vector<QTensor> made;
    for (const WType type :
         {WType::q4_0, WType::q4_k, WType::q8_0, WType::q4_1, WType::nvfp4, WType::q6_k, WType::q3_k, WType::f16, WType::f32})
      made.push_back(random_weights(type, {51, kCols}, 21));  // whole tiles of rows and an edge
    return made;
  };
  const std::vector<QTensor> weights = make_weights();
  const Tensor xs[] = {random_tensor({kMost, kCols}, 22), random_tensor({kMost, kCols}, 23)};
  for (const auto* isa : runnable_isas())
    for (const bool pack : {false, true}) {
      const auto backend = make_backend("cpu", {.threads = 2, .isa = isa->name, .pack = pack});
      const std::vector<QTensor> own = make_weights();  // a packed form belongs to one set
      for (const std::int64_t tokens : {4, 9, 23, 31}) {
        std::vector<Tensor> parts, results;
        std::vector<QAct> acts;
        for (const Tensor& x : xs) {
          parts.push_back(Tensor::empty({tokens, kCols}));
          std::memcpy(parts.back().raw(), x.raw(), parts.back().nbytes());
          acts.push_back(QAct::empty(tokens, kCols));
          backend->quantize(parts.back(), acts.back());
        }
        std::vector<LinearJob> jobs;
        for (const QTensor& w : weights)
          for (std::size_t i = 0; i < std::size(xs); ++i) results.push_back(Tensor::zeros({tokens, w.rows()}));
        for (std::size_t j = 0; j < results.size(); ++j) {
          const QTensor& w = own[j / 2];
          jobs.push_back({.w = &w, .y = &results[j]});
          if (quant::info(w.wtype()).floating) jobs.back().x = &parts[j % 2];
          else jobs.back().q = &acts[j % 2];
        }
        backend->linear(jobs);
        for (std::size_t j = 0; j < results.size(); ++j) {
          const QTensor& w = weights[j / 2];
          const bool floating = quant::info(w.wtype()).floating;
          INFO(isa->name << " " << name_of(w.wtype()) << " of " << tokens << " tokens, pack " << pack);
          CHECK((floating ? wrong(w, parts[j % 2], results[j]) : wrong(w, acts[j % 2], results[j])) == 0);
          Tensor last = Tensor::empty({1, kCols});
          std::memcpy(last.raw(), parts[j % 2].data<float>() + (tokens - 1) * kCols, last.nbytes());
          const Tensor alone = product(*backend, own[j / 2], last, !floating);
          CHECK(std::memcmp(alone.raw(), results[j].data<float>() + (tokens - 1) * w.rows(), alone.nbytes()) == 0);
        }
      }
    }
}

// Where float or int16 arithmetic inside a kernel would first lose a bit: every activation of the largest code, with the sign of its
// weight, and weights of one magnitude, so that codes and scales are the largest ones too.
TEST_CASE("integer products of the largest codes and scales are exact in every format and instruction set", "[kernels]") {
  for (const quant::FormatInfo& f : quant::formats()) {
    if (f.floating || f.encoder == nullptr) continue;
    const std::int64_t cols = std::max(64, f.block_elems) * 2, rows = 16;
    Tensor even = Tensor::empty({rows, cols});
    for (std::int64_t i = 0; i < even.numel(); ++i)
      even.data<float>()[i] = philox(9, 0, static_cast<std::uint64_t>(i))[0] & 1u ? 1.0f : -1.0f;
    for (const QTensor& w : {quantize(even, f.type), random_weights(f.type, {rows, cols}, 12)}) {
      Tensor x = w.decode();
      for (std::int64_t i = 0; i < x.numel(); ++i) x.data<float>()[i] = x.data<float>()[i] < 0 ? -1.0f : 1.0f;
      for (const auto* isa : runnable_isas()) {
        INFO(isa->name << " " << f.name);
        const auto backend = make_backend("cpu", {.threads = 1, .isa = isa->name, .pack = false});
        const Tensor y = product(*backend, w, x, true);
        QAct q = QAct::empty(rows, cols);
        backend->quantize(x, q);
        REQUIRE(std::abs(int{q.codes.data<std::int8_t>()[0]}) == 127);
        CHECK(wrong(w, q, y) == 0);
      }
    }
  }
}

TEST_CASE("float products are one fma chain over ascending k in every format and instruction set", "[kernels][slow]") {
  for (const auto* isa : runnable_isas())
    for (const quant::FormatInfo& f : quant::formats()) {
      const std::int64_t cols = f.floating ? 75 : f.block_elems;
      for (const std::int64_t rows : {3, 32, 70})
        for (const std::int64_t tokens : {1, 2, 5, 14}) {
          const Tensor x = random_tensor({tokens, cols}, 7);
          for (const bool pack : {true, false}) {
            INFO(isa->name << " " << f.name << " rows " << rows << " tokens " << tokens << " pack " << pack);
            const QTensor w = random_weights(f.type, {rows, cols}, 11);
            const auto backend = make_backend("cpu", {.threads = 2, .isa = isa->name, .pack = pack, .expand_bytes = UINT64_MAX});
            const Tensor y = product(*backend, w, x, false), decoded = w.decode();
            std::int64_t bad = 0;
            for (std::int64_t t = 0; t < tokens; ++t)
              for (std::int64_t r = 0; r < rows; ++r) {
                float expected = 0;
                for (std::int64_t k = 0; k < cols; ++k)
                  expected = std::fma(decoded.data<float>()[r * cols + k], x.data<float>()[t * cols + k], expected);
                bad += std::memcmp(&expected, y.data<float>() + t * rows + r, 4) != 0;
              }
            REQUIRE(bad == 0);
          }
        }
    }
}

TEST_CASE("unpacking a packed panel gives back every byte", "[kernels]") {
  for (const auto* isa : runnable_isas())
    for (const quant::FormatInfo& f : quant::formats()) {
      const cpu::FormatKernels& k = *isa->format(static_cast<std::uint32_t>(f.type));
      if (k.packed_unit == 0 || k.expanded) continue;
      const std::int64_t cols = f.floating ? 40 : f.block_elems * 2;
      for (const int rows : {16, 7}) {
        INFO(isa->name << " " << f.name << " rows " << rows);
        const QTensor w = random_weights(f.type, {rows, cols}, 5);
        std::vector<std::byte> panel(k.packed_bytes * static_cast<std::size_t>(cols / k.packed_unit)), back(w.nbytes());
        REQUIRE(panel.size() == w.row_bytes() * 16);  // not one byte more than the file's
        k.pack(w.bytes().data(), w.row_bytes(), rows, cols, panel.data());
        k.unpack(panel.data(), rows, cols, back.data(), w.row_bytes());
        REQUIRE(std::memcmp(back.data(), w.bytes().data(), back.size()) == 0);
      }
    }
}

TEST_CASE("rows of experts equal the products of each expert alone", "[kernels]") {
  for (const WType type : {WType::q4_0, WType::q4_k, WType::f16})
    for (const std::int64_t out : {16, 23}) {
      const std::int64_t cols = 256;
      const QTensor w = random_weights(type, {3, out, cols}, 9);
      const Tensor x = random_tensor({4, cols}, 10);
      const std::vector<std::int32_t> rows{0, 0, 1, 3, 3, 2, 1}, experts{0, 2, 2, 0, 1, 2, 1};
      for (const bool pack : {true, false}) {
        INFO(name_of(type) << " out " << out << " pack " << pack);
        const auto backend = make_backend("cpu", {.threads = 2, .pack = pack});
        const bool integer = type != WType::f16;
        QAct q = QAct::empty(4, cols);
        backend->quantize(x, q);
        Tensor y = Tensor::zeros({static_cast<std::int64_t>(rows.size()), out});
        backend->expert_linear({.w = &w, .x = &x, .q = integer ? &q : nullptr, .x_rows = rows, .experts = experts, .y = &y});
        for (std::size_t i = 0; i < rows.size(); ++i) {
          const Tensor alone = product(*backend, w.expert(experts[i]), x.row(rows[i]).clone(), integer);
          REQUIRE(same_bits(alone, y.row(static_cast<std::int64_t>(i))));
        }
      }
    }
}

TEST_CASE("integer products agree with double precision on equal codes", "[kernels]") {
  const auto reference = make_backend("reference");
  for (const quant::FormatInfo& f : quant::formats()) {
    if (f.floating) continue;
    const std::int64_t cols = std::max(64, f.block_elems) * 2;
    const QTensor w = random_weights(f.type, {24, cols}, 3);
    const Tensor x = random_tensor({5, cols}, 4);
    const Tensor a = product(*make_backend("cpu"), w, x, true), b = product(*reference, w, x, true);
    double scale = 0, worst = 0;
    for (std::int64_t i = 0; i < a.numel(); ++i) {
      scale = std::max(scale, static_cast<double>(std::fabs(b.data<float>()[i])));
      worst = std::max(worst, std::fabs(static_cast<double>(a.data<float>()[i]) - b.data<float>()[i]));
    }
    INFO(f.name << " worst " << worst << " of " << scale);
    CHECK(worst <= 4e-6 * scale);
  }
}
