// SPDX-License-Identifier: Apache-2.0
// Split GGUF sets: STEM-00001-of-0000N.gguf, each part with the keys split.no (from 0), split.count, split.tensors.count.
#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "hanzo/io/metadata.hpp"

namespace hz::io {

struct SplitName {
  std::string stem;
  std::uint32_t number = 1;  // from 1, as in names
  std::uint32_t count = 1;
};
// The parts of a name of that form; nullopt for other names.
std::optional<SplitName> parse_split_name(const std::filesystem::path& file);
std::filesystem::path split_path(const std::filesystem::path& folder, const SplitName& name);

// All files of the set whose first part is `file`; just `file` when its metadata claim no split.
// Throws bad_file when name and metadata disagree or `file` is not the first part.
std::vector<std::filesystem::path> split_set(const std::filesystem::path& file, const Metadata& metadata);
// Throws bad_file unless part `index` (from 0) of `count` says of itself that it is that.
void check_split_part(const std::filesystem::path& file, const Metadata& metadata, std::size_t index, std::size_t count);

}  // namespace hz::io
