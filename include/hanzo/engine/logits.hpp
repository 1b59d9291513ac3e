// SPDX-License-Identifier: Apache-2.0
// The logits of every position of a token sequence: walked in chunks, hashed, written.
#pragma once
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

#include "hanzo/core/parallel.hpp"
#include "hanzo/core/progress.hpp"
#include "hanzo/model/model.hpp"

namespace hz {

// Evaluates `ids` from an empty context, `ubatch` at a time, and calls take(rows, first) for each chunk: rows F32
// [tokens of the chunk, vocab], first the position of the chunk's first row. Stops within milliseconds (cancelled).
void each_logits(const Model& model, std::span<const std::int32_t> ids, std::int64_t ubatch, const Progress& progress,
                 FunctionRef<void(const Tensor& rows, std::size_t first)> take);

// SHA-256, as 64 hex digits, over the little-endian F32 logits of all rows of `ids` from an empty context.
std::string logits_hash(const Model& model, std::span<const std::int32_t> ids, std::int64_t ubatch, const Progress& progress = {});

// Writes them as a NumPy array (format 1.0): F32 [ids, vocab]. The file appears whole or not at all.
void write_logits(const Model& model, std::span<const std::int32_t> ids, std::int64_t ubatch, const std::filesystem::path& file,
                  const Progress& progress = {});

}  // namespace hz
