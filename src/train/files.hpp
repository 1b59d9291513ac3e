// SPDX-License-Identifier: Apache-2.0
// Small files, whole.
#pragma once
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "hanzo/core/error.hpp"

namespace hz::train {

// Throws Error(io).
inline std::string read_text(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  if (!in) throw Error(ErrorKind::io, "cannot read the file", file.string(), "check the path");
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace hz::train
