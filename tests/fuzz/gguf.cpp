// SPDX-License-Identifier: Apache-2.0
// GGUF files: read in both modes, decoded, tokenized with, and run for two tokens.
#include "hanzo/engine/generator.hpp"
#include "hanzo/io/gguf.hpp"
#include "tests/fuzz/gguf_mutator.hpp"

using namespace hz;
using namespace hz::fuzz;

namespace {

void read_all(const std::filesystem::path& path, io::ReadMode mode) {
  const io::Gguf file = io::Gguf::open_part(path, mode);
  std::vector<float> row;
  for (const io::GgufTensor& t : file.tensors()) guarded([&] {
    const QTensor q = file.tensor(t.name);
    row.resize(static_cast<std::size_t>(std::min<std::int64_t>(q.cols(), 4096)));
    if (q.cols() <= 4096 && q.rows() > 0) q.decode_row(q.rows() - 1, row.data());
  });
}

void run_model(const std::filesystem::path& path) {
  Generator gen(Model::load(path, {.threads = 1, .context = 16}), {.ubatch = 4});
  if (gen.has_tokenizer()) gen.complete_ids("hello <s> w\xc3\xa9rld \xf0\x9f\x98\x80");
  Generation g = gen.generate({0, 0}, {.max_tokens = 2, .temperature = 0.0f});
  while (g.next()) {}
}

}  // namespace

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size, unsigned seed) {
  return mutate_gguf(data, size, max_size, seed);
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const MemoryFile file({data, size});
  guarded([&] { read_all(file.path(), io::ReadMode::map); });
  guarded([&] { read_all(file.path(), io::ReadMode::read); });
  return guarded([&] { run_model(file.path()); });
}
