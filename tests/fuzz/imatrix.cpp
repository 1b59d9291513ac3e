// SPDX-License-Identifier: Apache-2.0
// Importance matrices of both forms: what is read is finite, adds up, and comes back equal when it is written.
#include "hanzo/model/importance.hpp"

#include <cmath>

#include "tests/fuzz/gguf_mutator.hpp"
#include "tests/fuzz/json_mutator.hpp"

using namespace hz;
using namespace hz::fuzz;

namespace {

void use(const std::filesystem::path& path, const std::filesystem::path& again) {
  model::Importance m = model::Importance::read(path);
  require(!m.entries().empty());
  for (const auto& [name, e] : m.entries()) {
    require(static_cast<std::int64_t>(e.sums.size()) == e.experts * e.cols && static_cast<std::int64_t>(e.counts.size()) == e.experts);
    for (const float v : e.sums) require(std::isfinite(v) && v >= 0);
    for (const float v : m.means(name, e.experts, e.cols)) require(v >= 0);
    guarded([&, &n = name, &of = e] { static_cast<void>(m.means(n, of.experts + 1, of.cols)); });
  }
  guarded([&] {  // the writer refuses names that the GGUF form cannot hold
    m.write(again);
    const model::Importance back = model::Importance::read(again);
    require(back.entries().size() == m.entries().size() && back.chunk_count == m.chunk_count);
    for (const auto& [name, e] : m.entries()) require(back.entries().at(name).sums == e.sums && back.entries().at(name).counts == e.counts);
  });
  m.add(model::Importance(m));
}

}  // namespace

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size, unsigned seed) {
  return mutate_gguf(data, size, max_size, seed);
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Folder folder;
  const MemoryFile file({data, size});
  return guarded([&] { use(file.path(), folder.path() / "again.gguf"); });
}
