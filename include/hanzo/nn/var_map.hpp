// SPDX-License-Identifier: Apache-2.0
// VarMap: parameters by dotted name, saved and loaded as safetensors.
#pragma once
#include <filesystem>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hanzo/autograd/var.hpp"

namespace hz::nn {

class VarMap {
 public:
  VarMap() = default;
  // Throws usage when a name occurs twice.
  explicit VarMap(std::span<const Var> parameters);

  // A value under a name; F32, F16 or BF16. Throws usage for a name taken or empty.
  void add(std::string name, const Tensor& value);
  void add(const Var& v);                           // under its own name
  const Tensor* find(std::string_view name) const;  // null when there is none
  std::size_t size() const { return values_.size(); }
  std::vector<Var> parameters() const;  // in the order of names
  // Those whose name begins with `prefix` and a dot, named by the rest.
  VarMap below(std::string_view prefix) const;

  // Writes all values as `dtype` (F32, F16, BF16; rounding to nearest even), atomically.
  void save(const std::filesystem::path& file, DType dtype = DType::f32, const std::map<std::string, std::string>& metadata = {}) const;
  // A map of what a file holds, as it is there. Throws bad_file for a type that is no float.
  static VarMap load(const std::filesystem::path& file);
  // Copies a file's values into the tensors of this map, converting between float types. Throws bad_file naming the
  // first tensor that is missing in the file, of another shape, or not in this map; then nothing has changed.
  void assign(const std::filesystem::path& file);

 private:
  std::map<std::string, Var, std::less<>> values_;
};

// A copy of a float tensor in another float type (rounding to nearest even), contiguous.
Tensor cast(const Tensor& value, DType dtype);

}  // namespace hz::nn
