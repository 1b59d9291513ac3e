// SPDX-License-Identifier: Apache-2.0
// Quantizing at load: the same bits as loading the quantized file, the file kept where wanted, nothing left otherwise.
#include <stdlib.h>

#include <cstring>
#include <fstream>

#include "hanzo/model/model.hpp"
#include "hanzo/model/quantize_file.hpp"
#include "tests/catch.hpp"
#include "tests/model/tiny_model.hpp"
#include "tests/temp_dir.hpp"

using namespace hz;
namespace fs = std::filesystem;

namespace {

std::string content(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}
Tensor logits_of(const Model& m) {
  auto kv = m.new_sequence();
  const std::vector<std::int32_t> ids{1, 7, 3, 30, 12};
  const SequenceChunk chunk{&kv, ids};
  return m.forward({&chunk, 1}, LogitRows::all);
}
// The temporary folder of this process, while it lives.
struct TemporaryFolder {
  explicit TemporaryFolder(const fs::path& p) : before(::getenv("TMPDIR") ? ::getenv("TMPDIR") : "") { ::setenv("TMPDIR", p.c_str(), 1); }
  ~TemporaryFolder() { before.empty() ? ::unsetenv("TMPDIR") : ::setenv("TMPDIR", before.c_str(), 1); }
  std::string before;
};

}  // namespace

TEST_CASE("a model quantized at load computes what the quantized file computes") {
  const test::TempDir dir, temporary;
  const fs::path in = dir.path() / "in.gguf", out = dir.path() / "out.gguf", kept = dir.path() / "kept.gguf";
  test::TinyModel({.hidden = 256, .ff = 512, .vocab = 64, .head_dim = 64}).write(in);
  model::QuantizeFileOptions o;
  o.recipe = model::find_recipe("Q4_K_M");
  model::quantize_file(in, out, o);
  const Tensor wanted = logits_of(Model::load(out, {.threads = 1}));
  const TemporaryFolder scope(temporary.path());
  for (const io::ReadMode mode : {io::ReadMode::map, io::ReadMode::read})
    for (const int threads : {1, 3}) {
      const Model m = Model::load(in, {.threads = threads, .read_mode = mode, .isq = "q4_k_m"});
      CHECK(fs::is_empty(temporary.path()));
      const Tensor got = logits_of(m);
      CHECK(std::memcmp(wanted.raw(), got.raw(), wanted.nbytes()) == 0);
    }
  Model::load(in, {.threads = 1, .isq = "Q4_K_M", .isq_save = kept});
  CHECK(content(kept) == content(out));
}

TEST_CASE("what cannot be quantized at load is refused and leaves nothing") {
  const test::TempDir dir, temporary;
  const TemporaryFolder scope(temporary.path());
  const fs::path in = dir.path() / "in.gguf", q = dir.path() / "q.gguf";
  test::TinyModel({.hidden = 256, .ff = 512, .vocab = 64, .head_dim = 64}).write(in);
  test::TinyModel({.hidden = 256, .ff = 512, .vocab = 64, .head_dim = 64, .type = WType::q8_0}).write(q);
  CHECK_THROWS_AS(Model::load(in, {.isq = "Q4_KM"}), Error);
  CHECK_THROWS_AS(Model::load(in, {.isq = "IQ2_XXS"}), Error);  // needs importance
  CHECK_THROWS_AS(Model::load(q, {.isq = "Q4_K_M"}), Error);
  CHECK_THROWS_AS(Model::load(in, {.isq = "Q4_0", .isq_save = in}), Error);
  CHECK(fs::is_empty(temporary.path()));
}
