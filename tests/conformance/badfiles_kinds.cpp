// SPDX-License-Identifier: Apache-2.0
// The checks of each kind of bad file. A kind or stage that gets built gets its function here.
#include "hanzo/io/gguf.hpp"
#include "hanzo/io/safetensors.hpp"
#include "tests/conformance/badfiles.hpp"

namespace hz::conformance {
namespace {

void parse_gguf(const std::filesystem::path& dir, const BadFile& file) {
  for (const io::ReadMode mode : {io::ReadMode::map, io::ReadMode::read}) io::Gguf::open_part(dir / file.file, mode);
}

void read_safetensors(const std::filesystem::path& dir, const BadFile& file) {
  for (const io::ReadMode mode : {io::ReadMode::map, io::ReadMode::read}) {
    const auto s = io::SafeTensors::open(dir / file.file, mode);
    for (const io::SafeTensor& t : s.tensors())
      if (t.dtype) s.tensor(t.name).clone();
  }
}

}  // namespace

const std::vector<FileKind>& file_kinds() {
  static const std::vector<FileKind> kinds{
      {"gguf", &parse_gguf, nullptr},
      {"adapter", &parse_gguf, nullptr},
      {"safetensors", &read_safetensors, &read_safetensors},
  };
  return kinds;
}

}  // namespace hz::conformance
