// SPDX-License-Identifier: Apache-2.0
// The safetensors files of a folder as one set of tensors, and quantized ones as rows of a GGUF type.
#pragma once
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "hanzo/io/gguf_writer.hpp"
#include "hanzo/io/safetensors.hpp"
#include "src/model/convert/config.hpp"

namespace hz::model::convert {

class TensorSet {
 public:
  // model.safetensors, or the files that model.safetensors.index.json names, which must lie in the folder itself.
  explicit TensorSet(const std::filesystem::path& folder);
  bool has(const std::string& name) const { return at_.contains(name); }
  const io::SafeTensor& info(const std::string& name) const;
  Tensor tensor(const std::string& name) const;
  std::span<const std::byte> bytes(const std::string& name) const;
  std::vector<std::string> names() const;
  const std::string& where() const { return where_; }

 private:
  std::vector<io::SafeTensors> files_;
  std::map<std::string, std::pair<std::size_t, const io::SafeTensor*>> at_;
  std::string where_;
};

// One matrix [rows, cols] of the model, however the folder stores it.
struct Matrix {
  std::int64_t rows = 0, cols = 0;
  WType type{};
  // The bytes of row i as GGUF stores them.
  std::function<void(std::int64_t row, std::vector<std::byte>& out)> row;
};

// How the folder's quantization_config (or MLX's quantization) says that matrices are stored.
struct StoredForm {
  enum class Kind { dense, fp8, affine } kind = Kind::dense;
  std::int64_t block_rows = 0, block_cols = 0;  // fp8: scales of blocks; 0: one scale for the matrix or one a row
  struct Affine {
    std::int64_t group = 0, bits = 0;
  };
  Affine usual = {};                            // affine
  std::map<std::string, Affine> modules = {};   // affine: those that the config names, such as model.embed_tokens
};
StoredForm stored_form(const Config& config);

// The matrix whose weight is `name` (".weight" included).
Matrix read_matrix(const TensorSet& set, const StoredForm& form, const std::string& name);
// Names beside `name` that belong to it: scales, zero points.
bool belongs_to_quantized(const StoredForm& form, const std::string& name);

}  // namespace hz::model::convert
