// SPDX-License-Identifier: Apache-2.0
// Splitting a GGUF model into parts STEM-00001-of-0000N.gguf, and putting parts together again.
#pragma once
#include <cstdint>
#include <filesystem>
#include <vector>

#include "hanzo/core/progress.hpp"

namespace hz::io {

struct SplitOptions {
  std::uint64_t max_bytes = 0;    // of tensor data in one part, at least one tensor each; 0: no limit
  std::uint64_t max_tensors = 0;  // in one part; 0: no limit
  bool metadata_first = false;    // the first part holds no tensors
};

// Writes the parts and returns their paths. `stem` is folder and name without the numbers. Existing parts are not
// overwritten (Error(usage)); on failure the parts written so far are removed.
std::vector<std::filesystem::path> split_gguf(const std::filesystem::path& in, const std::filesystem::path& stem,
                                              const SplitOptions& options, const Progress& progress = {});
// Writes the set whose first part is `first` as one file, atomically. Metadata and tensors are as before the split.
void merge_gguf(const std::filesystem::path& first, const std::filesystem::path& out, const Progress& progress = {});

}  // namespace hz::io
