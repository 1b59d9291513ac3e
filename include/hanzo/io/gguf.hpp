// SPDX-License-Identifier: Apache-2.0
// GGUF reading: versions 2 and 3, one file or split, validated as a whole before anything is used.
// Source: the GGUF specification (ggml project, docs/gguf.md).
#pragma once
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hanzo/core/progress.hpp"
#include "hanzo/io/metadata.hpp"
#include "hanzo/io/read_mode.hpp"
#include "hanzo/quant/qtensor.hpp"

namespace hz::io {

struct GgufTensor {
  std::string name;
  Shape shape;               // row-major: the file's dimensions reversed, last = row length
  WType type{};              // by number; a plain type (I8 I16 I32 I64 F64) when is_weight() is false
  std::uint32_t file = 0;    // which of the split files
  std::uint64_t offset = 0;  // bytes from the start of that file
  std::uint64_t nbytes = 0;

  bool is_weight() const;               // the type is in the list of weight formats
  std::string_view type_name() const;   // "Q4_K", "I32"
};

class Gguf {
 public:
  // Opens FILE, and all its siblings when it is the first of a split set. Throws Error(bad_file | io) with
  // file, place and cause. Nothing is allocated on a number that the file's size cannot back.
  static Gguf open(const std::filesystem::path& file, ReadMode mode = ReadMode::map, const Progress& progress = {});
  // Exactly this file, also when it is one of a split set.
  static Gguf open_part(const std::filesystem::path& file, ReadMode mode = ReadMode::map, const Progress& progress = {});

  const Metadata& metadata() const;
  const std::vector<GgufTensor>& tensors() const;  // in file order
  const GgufTensor* find(std::string_view name) const;
  // The tensor's bytes as weights; shares the mapping. Throws bad_file when the name is absent, the type is no
  // weight format, or a dimension is 0 or missing. Each call makes a new QTensor (with a packed form of its own).
  QTensor tensor(std::string_view name) const;
  // As above; throws bad_file unless the file's shape is `expected` but for leading ones. The result has that shape.
  QTensor tensor(std::string_view name, const Shape& expected) const;
  // A dense tensor (F32 F16 BF16 I8 I32 I64) that shares the bytes; read-only in map mode.
  Tensor dense(std::string_view name) const;
  // Any tensor's bytes as they are in the file.
  std::span<const std::byte> bytes(std::string_view name) const;
  const std::vector<std::filesystem::path>& files() const;
  std::uint64_t total_bytes() const;  // of all files
  std::uint32_t version() const;
  std::uint32_t alignment() const;      // of the first file

 private:
  struct Body;
  static Gguf assemble(std::vector<std::filesystem::path> files, ReadMode mode, const Progress& progress, bool whole_set);
  const GgufTensor& require(std::string_view name) const;
  std::shared_ptr<const Body> body_;
};

}  // namespace hz::io
