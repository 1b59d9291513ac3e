// SPDX-License-Identifier: Apache-2.0
#include "hanzo/engine/logits.hpp"

#include <algorithm>

#include "hanzo/io/atomic_file.hpp"
#include "hanzo/io/sha256.hpp"

namespace hz {
namespace {

// The head of a NumPy file of F32 [rows, cols]; the data behind it begin at a multiple of 64.
std::string npy_head(std::size_t rows, std::int64_t cols) {
  std::string text = "{'descr': '<f4', 'fortran_order': False, 'shape': (" + std::to_string(rows) + ", " + std::to_string(cols) + "), }";
  text.append((64 - (10 + text.size() + 1) % 64) % 64, ' ');
  text += '\n';
  std::string head("\x93NUMPY\x01\x00", 8);
  head += static_cast<char>(text.size() & 255);
  head += static_cast<char>(text.size() >> 8);
  return head + text;
}

}  // namespace

void each_logits(const Model& model, std::span<const std::int32_t> ids, std::int64_t ubatch, const Progress& progress,
                 FunctionRef<void(const Tensor& rows, std::size_t first)> take) {
  constexpr std::string_view kStage = "evaluating the prompt";
  auto kv = model.new_sequence();
  const auto step = static_cast<std::size_t>(std::max<std::int64_t>(1, ubatch));
  for (std::size_t at = 0; at < ids.size(); at += step) {
    progress.check(kStage);
    const SequenceChunk chunk{&kv, ids.subspan(at, std::min(step, ids.size() - at))};
    take(model.forward({&chunk, 1}, LogitRows::all, progress.stop), at);
    progress(kStage, at + chunk.ids.size(), ids.size());
  }
}

std::string logits_hash(const Model& model, std::span<const std::int32_t> ids, std::int64_t ubatch, const Progress& progress) {
  io::Sha256 hash;
  each_logits(model, ids, ubatch, progress, [&](const Tensor& rows, std::size_t) { hash.update(std::as_bytes(rows.span<const float>())); });
  return hash.hex();
}

void write_logits(const Model& model, std::span<const std::int32_t> ids, std::int64_t ubatch, const std::filesystem::path& file,
                  const Progress& progress) {
  io::AtomicFile out(file);
  out.write(npy_head(ids.size(), model.hparams().vocab));
  each_logits(model, ids, ubatch, progress, [&](const Tensor& rows, std::size_t) { out.write(std::as_bytes(rows.span<const float>())); });
  out.commit();
}

}  // namespace hz
