// SPDX-License-Identifier: Apache-2.0
// The logits hash: proof, in 64 digits, that two runs computed the same bits.
#include <bit>

#include "hanzo/engine/generator.hpp"
#include "hanzo/io/sha256.hpp"

namespace hz {

std::string logits_hash(const Model& model, std::span<const std::int32_t> ids, std::int64_t ubatch, const Progress& progress) {
  static_assert(std::endian::native == std::endian::little, "logits are hashed as little-endian bytes");
  io::Sha256 sha;
  auto kv = model.new_sequence();
  const auto step = static_cast<std::size_t>(std::max<std::int64_t>(1, ubatch));
  for (std::size_t at = 0; at < ids.size(); at += step) {
    progress.check("hashing logits");
    const SequenceChunk chunk{&kv, ids.subspan(at, std::min(step, ids.size() - at))};
    const Tensor logits = model.forward({&chunk, 1}, LogitRows::all);
    sha.update(std::as_bytes(logits.span<const float>()));
    progress("hashing logits", at + chunk.ids.size(), ids.size());
  }
  return sha.hex();
}

}  // namespace hz
