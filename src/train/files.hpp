// SPDX-License-Identifier: Apache-2.0
// Small files, whole.
#pragma once
#include <cstdint>
#include <filesystem>
#include <string>

#include "src/io/input_file.hpp"

namespace hz::train {

// Throws Error(io | bad_file).
inline std::string read_text(const std::filesystem::path& file) {
  return io::InputFile(file).text(std::uint64_t{4} << 30);
}

}  // namespace hz::train
