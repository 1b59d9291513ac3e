// SPDX-License-Identifier: Apache-2.0
// GgufWriter: builds a GGUF file (version 3) from metadata and tensors, and writes it atomically.
#pragma once
#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <unordered_set>
#include <vector>

#include "hanzo/core/progress.hpp"
#include "hanzo/io/metadata.hpp"
#include "hanzo/quant/qtensor.hpp"

namespace hz::io {

using ByteSink = std::function<void(std::span<const std::byte>)>;
// Makes a tensor's bytes while the file is written, in pieces of any size.
using ByteSource = std::function<void(const ByteSink& sink)>;

class GgufWriter {
 public:
  // The alignment of the data is the key general.alignment (u32, a power of two from 8 on), 32 without it.
  explicit GgufWriter(Metadata metadata = {}) : metadata_(std::move(metadata)) {}
  Metadata& metadata() { return metadata_; }
  const Metadata& metadata() const { return metadata_; }

  // Tensors are written in the order they were added. All throw Error(usage) for what the format cannot hold: names
  // of over 64 bytes or twice, more than 4 dimensions, rows that do not divide into blocks.
  void add(std::string name, const QTensor& tensor);
  void add(std::string name, const Tensor& tensor);  // F32 F16 BF16 I8 I32 I64
  // `type`: GGUF type number. `bytes` must live until the file is written.
  void add(std::string name, const Shape& shape, std::uint32_t type, std::span<const std::byte> bytes);
  // The source is called once per write and must give exactly the bytes that shape and type need.
  void add(std::string name, const Shape& shape, std::uint32_t type, ByteSource source);

  std::uint64_t file_bytes() const;  // of the finished file
  void write(const std::filesystem::path& file, const Progress& progress = {}) const;
  // The file's bytes, in order, to any other place.
  void write(const ByteSink& sink, const Progress& progress = {}) const;

 private:
  struct Entry {
    std::string name;
    std::vector<std::uint64_t> dims;  // as in the file: the row length first
    std::uint32_t type = 0;
    std::uint64_t nbytes = 0;
    ByteSource source;
  };
  std::uint32_t alignment() const;
  std::string header() const;

  Metadata metadata_;
  std::vector<Entry> entries_;
  std::unordered_set<std::string> names_;
};

}  // namespace hz::io
