// SPDX-License-Identifier: Apache-2.0
// Rope's two pairings: the same weights, once in the order of llama files (adjacent pairs), once in that of qwen2 (halves).
#include <cmath>
#include <cstring>

#include "hanzo/model/model.hpp"
#include "tests/catch.hpp"
#include "tests/model/tiny_model.hpp"
#include "tests/temp_dir.hpp"

using namespace hz;
using namespace hz::test;

namespace {

// Rows of one head: adjacent pairs (2i, 2i + 1) become (i, i + d / 2).
Tensor to_halves(const Tensor& w, int heads) {
  Tensor out = Tensor::empty(w.shape());
  const std::int64_t d = w.rows() / heads, cols = w.cols();
  for (std::int64_t h = 0; h < heads; ++h)
    for (std::int64_t i = 0; i < d; ++i) {
      const std::int64_t to = h * d + i % 2 * (d / 2) + i / 2;
      std::memcpy(out.data<float>() + to * cols, w.data<float>() + (h * d + i) * cols, static_cast<std::size_t>(cols) * sizeof(float));
    }
  return out;
}

// The llama model as a qwen2 one with biases of zero; `permute`: with the rows of Q and K put in its order.
void write_qwen2(const io::Gguf& llama, const TinySpec& spec, bool permute, const std::filesystem::path& file) {
  io::GgufWriter writer;
  for (const auto& [key, value] : llama.metadata().entries())
    writer.metadata().set(key.starts_with("llama.") ? "qwen2." + key.substr(6) : key,
                          key == "general.architecture" ? io::Value{"qwen2"} : value);
  for (const io::GgufTensor& t : llama.tensors()) {
    const bool q = t.name.ends_with("attn_q.weight"), k = t.name.ends_with("attn_k.weight"), v = t.name.ends_with("attn_v.weight");
    const Tensor w = llama.dense(t.name);
    writer.add(t.name, permute && (q || k) ? to_halves(w, q ? spec.heads : spec.kv_heads) : w);
    if (q || k || v) writer.add(t.name.substr(0, t.name.size() - 6) + "bias", Tensor::zeros({t.shape[0]}));
  }
  writer.write(file);
}

std::vector<float> last_logits(const std::filesystem::path& file) {
  const Model model = Model::load(file);
  auto kv = model.new_sequence();
  const std::vector<std::int32_t> ids{5, 17, 33, 2, 60, 41};
  const SequenceChunk chunk{&kv, ids};
  const auto logits = model.forward({&chunk, 1});
  return {logits.span<const float>().begin(), logits.span<const float>().end()};
}

float greatest_difference(const std::vector<float>& a, const std::vector<float>& b) {
  float most = 0;
  for (std::size_t i = 0; i < a.size(); ++i) most = std::max(most, std::fabs(a[i] - b[i]));
  return most;
}

}  // namespace

TEST_CASE("llama's adjacent pairs and qwen2's halves rotate the same numbers", "[model]") {
  const TempDir dir;
  const TinySpec spec;
  TinyModel(spec).write(dir.path() / "llama.gguf");
  const io::Gguf llama = io::Gguf::open(dir.path() / "llama.gguf");
  write_qwen2(llama, spec, true, dir.path() / "permuted.gguf");
  write_qwen2(llama, spec, false, dir.path() / "as-it-is.gguf");
  const auto want = last_logits(dir.path() / "llama.gguf");
  CHECK(greatest_difference(want, last_logits(dir.path() / "permuted.gguf")) < 1e-3f);  // sums run in another order
  CHECK(greatest_difference(want, last_logits(dir.path() / "as-it-is.gguf")) > 1e-2f);
}
