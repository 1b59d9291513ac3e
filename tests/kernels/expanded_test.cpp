// SPDX-License-Identifier: Apache-2.0
// Expanded panels of codebook formats: what they hold, and how many there are.
#include <thread>

#include "hanzo/model/memory_plan.hpp"
#include "src/backend/cpu/panels.hpp"
#include "tests/catch.hpp"
#include "tests/kernels/isas.hpp"
#include "tests/random.hpp"

using namespace hz;
using namespace hz::test;

namespace {

std::vector<WType> codebooks() {
  std::vector<WType> list;
  for (const quant::FormatInfo& f : quant::formats())
    if (model::expansion(f.type, f.block_bytes) > 0) list.push_back(f.type);
  return list;
}

// The bytes that panels of `w` take beyond its own; its rows divide by sixteen.
std::uint64_t extra(const QTensor& w) { return model::expansion(w.wtype(), w.nbytes()); }

// Found once, before any thread: what cannot run is told to Catch, which threads may not.
const cpu::FormatKernels& kernels(WType type) {
  static const cpu::CpuKernels& first = *runnable_isas()[0];
  return *first.format(static_cast<std::uint32_t>(type));
}

bool packed(const QTensor& w, const std::shared_ptr<cpu::PanelBudget>& budget) {
  return cpu::panels_of(w, kernels(w.wtype()), 1, budget) != nullptr;
}

}  // namespace

TEST_CASE("every codebook format has an expanded form of the size that plans count with, the same in every set", "[kernels]") {
  REQUIRE(codebooks().size() == 7);
  for (const WType type : codebooks()) {
    INFO(name_of(type));
    const std::int64_t cols = 512;
    const QTensor w = random_weights(type, {16, cols}, 5);
    std::vector<std::byte> first;
    for (const auto* isa : runnable_isas()) {
      const cpu::FormatKernels& k = *isa->format(static_cast<std::uint32_t>(type));
      REQUIRE(k.expanded);
      REQUIRE(k.unpack == nullptr);
      std::vector<std::byte> panel(k.packed_bytes * static_cast<std::size_t>(cols / k.packed_unit));
      REQUIRE(panel.size() == w.nbytes() + extra(w));
      k.pack(w.bytes().data(), w.row_bytes(), 16, cols, panel.data());
      if (first.empty()) first = panel;
      REQUIRE(panel == first);
    }
  }
}

TEST_CASE("an expanded panel decodes to the weights of the file, edges of fewer rows included", "[kernels]") {
  for (const auto* isa : runnable_isas())
    for (const WType type : codebooks())
      for (const int rows : {16, 7}) {
        INFO(isa->name << " " << name_of(type) << " rows " << rows);
        const cpu::FormatKernels& k = *isa->format(static_cast<std::uint32_t>(type));
        const std::int64_t cols = 512;
        const QTensor w = random_weights(type, {rows, cols}, 6);
        std::vector<std::byte> panel(k.packed_bytes * static_cast<std::size_t>(cols / k.packed_unit));
        k.pack(w.bytes().data(), w.row_bytes(), rows, cols, panel.data());
        std::vector<float> floats(static_cast<std::size_t>(cols) * 16);
        k.expand_float_packed(panel.data(), 0, cols, floats.data());
        const Tensor want = w.decode();
        std::int64_t bad = 0;
        for (std::int64_t r = 0; r < rows; ++r)
          for (std::int64_t i = 0; i < cols; ++i)
            bad += std::memcmp(&floats[static_cast<std::size_t>(i * 16 + r)], want.data<float>() + r * cols + i, 4) != 0;
        REQUIRE(bad == 0);
      }
}

TEST_CASE("weights are expanded while the budget lasts, and what goes gives back", "[kernels]") {
  const Shape shape{32, 512};
  std::vector<QTensor> w;
  for (std::uint64_t i = 0; i < 4; ++i) w.push_back(random_weights(WType::iq2_xs, shape, i));
  const auto budget = std::make_shared<cpu::PanelBudget>(2 * extra(w[0]) + 1);
  CHECK(packed(w[0], budget));
  CHECK(packed(w[1], budget));
  CHECK(!packed(w[2], budget));
  CHECK(packed(w[0], budget));  // asked again: the same
  const QTensor lossless = random_weights(WType::q4_k, shape, 1);
  CHECK(packed(lossless, budget));  // costs nothing
  w[0] = QTensor();
  CHECK(packed(w[3], budget));
  CHECK(!packed(w[2], budget));  // decided once
  CHECK(!packed(random_weights(WType::iq1_s, shape, 1), std::make_shared<cpu::PanelBudget>(0)));
}

TEST_CASE("threads that use weights at once never expand more than the budget allows", "[kernels][threads]") {
  for (std::uint64_t round = 0; round < 20; ++round) {
    std::vector<QTensor> w;
    for (std::uint64_t i = 0; i < 8; ++i) w.push_back(random_weights(WType::iq3_s, {16, 256}, i));
    const auto budget = std::make_shared<cpu::PanelBudget>(3 * extra(w[0]));
    kernels(WType::iq3_s);
    std::vector<std::thread> threads;
    for (std::size_t t = 0; t < 4; ++t)
      threads.emplace_back([&, t] {
        for (std::size_t i = 0; i < w.size(); ++i) packed(w[(i + 2 * t) % w.size()], budget);
      });
    for (std::thread& t : threads) t.join();
    int expanded = 0;
    for (const QTensor& q : w) expanded += packed(q, budget);
    REQUIRE(expanded == 3);
  }
}
