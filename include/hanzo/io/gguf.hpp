// SPDX-License-Identifier: Apache-2.0
// GGUF reading: versions 2 and 3, one file or split, validated as a whole before anything is used.
#pragma once
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "hanzo/core/progress.hpp"
#include "hanzo/io/metadata.hpp"
#include "hanzo/quant/qtensor.hpp"

namespace hz::io {

enum class ReadMode { map, read };  // map: pages on demand; read: a private copy, safe if the file changes

struct GgufTensor {
  std::string name;
  Shape shape;               // row-major: the file's dimensions reversed, last = row length
  WType type{};
  std::uint32_t file = 0;    // which of the split files
  std::uint64_t offset = 0;  // bytes from the start of that file
  std::uint64_t nbytes = 0;
};

class Gguf {
 public:
  // Opens FILE, and all its siblings when it is the first of a split set. Throws Error(bad_file | io) with
  // file, place and cause. Nothing is allocated on a number that the file's size cannot back.
  static Gguf open(const std::filesystem::path& file, ReadMode mode = ReadMode::map, const Progress& progress = {});

  const Metadata& metadata() const;
  const std::vector<GgufTensor>& tensors() const;  // in file order
  const GgufTensor* find(std::string_view name) const;
  // The tensor's bytes; shares the mapping. Throws bad_file when the name is absent.
  QTensor tensor(std::string_view name) const;
  const std::vector<std::filesystem::path>& files() const;
  std::uint64_t total_bytes() const;  // of all files
  std::uint32_t version() const;
  std::uint32_t alignment() const;

 private:
  struct Body;
  std::shared_ptr<const Body> body_;
};

}  // namespace hz::io
