// SPDX-License-Identifier: Apache-2.0
// What hz-run prints about a model file, and logits as a file.
#pragma once
#include <cstdint>
#include <hanzo/model/model.hpp>
#include <span>
#include <string>

#include "tools/common/console.hpp"

namespace hz::tools {

// Metadata, tensors, types, sizes, template and tokenizer; the architecture need not be built.
int print_info(const std::string& file, bool json, Console& console);
// F32 [positions, vocab] of all rows as a NumPy .npy file (format 1.0), written atomically.
void write_logits(const Model& model, std::span<const std::int32_t> ids, std::int64_t ubatch, const std::string& file, const Progress& progress);

}  // namespace hz::tools
