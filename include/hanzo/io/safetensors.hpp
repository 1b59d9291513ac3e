// SPDX-License-Identifier: Apache-2.0
// safetensors: named dense tensors in one file, read strictly and written atomically.
// Source: the safetensors format description and its Rust reference (Hugging Face); we refuse duplicate keys too.
#pragma once
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "hanzo/core/progress.hpp"
#include "hanzo/core/tensor.hpp"
#include "hanzo/io/read_mode.hpp"

namespace hz::io {

struct SafeTensor {
  std::string name;
  std::string_view type;              // as in the file: "F32", "BF16", "F8_E4M3", ...
  std::optional<DType> dtype;         // nullopt: no Tensor has this type
  std::vector<std::uint64_t> shape;   // row-major
  std::uint64_t offset = 0;           // bytes from the start of the file
  std::uint64_t nbytes = 0;
};

class SafeTensors {
 public:
  // Checks the whole header: at most 100 MB of UTF-8 JSON beginning with '{', depth 128, no key twice, and data
  // ranges that follow each other without holes up to the file's end. Throws Error(bad_file | io).
  static SafeTensors open(const std::filesystem::path& file, ReadMode mode = ReadMode::map, const Progress& progress = {});

  const std::map<std::string, std::string>& metadata() const;  // the __metadata__ of the file
  const std::vector<SafeTensor>& tensors() const;              // in the order of the data
  const SafeTensor* find(std::string_view name) const;
  // Shares the file's bytes where they are aligned for the type, else a copy; read-only in map mode. Throws bad_file
  // when the name is absent, unsupported for a type or a rank that Tensor does not have.
  Tensor tensor(std::string_view name) const;
  std::span<const std::byte> bytes(std::string_view name) const;

 private:
  struct Body;
  const SafeTensor& require(std::string_view name) const;
  std::shared_ptr<const Body> body_;
};

// Tensors of larger elements come first in the file, so that each is aligned for its type; the order is otherwise
// that of the calls.
class SafeTensorsWriter {
 public:
  std::map<std::string, std::string>& metadata() { return metadata_; }
  // Throws Error(usage) for a name given twice, "__metadata__", or one that is not UTF-8.
  void add(std::string name, const Tensor& tensor);
  void write(const std::filesystem::path& file, const Progress& progress = {}) const;

 private:
  std::string header(const std::vector<std::size_t>& order) const;

  std::map<std::string, std::string> metadata_;
  std::vector<std::pair<std::string, Tensor>> tensors_;
  std::unordered_set<std::string> names_;
};

}  // namespace hz::io
