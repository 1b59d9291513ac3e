// SPDX-License-Identifier: Apache-2.0
// safetensors files: opened in both modes; every tensor is looked at, and what was read is written and read again.
#include "hanzo/io/safetensors.hpp"

#include "tests/fuzz/fuzz.hpp"

using namespace hz;
using namespace hz::fuzz;

namespace {

void read_all(const std::filesystem::path& path, io::ReadMode mode) {
  const io::SafeTensors file = io::SafeTensors::open(path, mode);
  std::size_t sum = 0;
  for (const io::SafeTensor& t : file.tensors()) {
    for (const std::byte b : file.bytes(t.name)) sum += static_cast<std::size_t>(b);
    guarded([&] { sum += file.tensor(t.name).nbytes(); });
  }
  require(sum != SIZE_MAX);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const MemoryFile file({data, size});
  guarded([&] { read_all(file.path(), io::ReadMode::map); });
  return guarded([&] { read_all(file.path(), io::ReadMode::read); });
}
