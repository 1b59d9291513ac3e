// SPDX-License-Identifier: Apache-2.0
// Shape: dimension arithmetic and printing.
#include "hanzo/core/shape.hpp"

#include "hanzo/core/checked.hpp"
#include "hanzo/core/error.hpp"

namespace hz {

Shape::Shape(std::initializer_list<std::int64_t> dims) {
  for (const std::int64_t d : dims) push_back(d);
}

void Shape::push_back(std::int64_t dim) {
  if (rank_ == kMaxRank) throw Error(ErrorKind::usage, "a shape has at most 6 dimensions");
  if (dim < 0) throw Error(ErrorKind::usage, "a dimension of " + std::to_string(dim) + " is negative");
  dims_[static_cast<std::size_t>(rank_++)] = dim;
}

std::int64_t Shape::numel() const {
  Checked n = 1;
  for (const std::int64_t d : *this) n = n * d;
  const auto value = n.get();
  if (!value || *value > INT64_MAX) throw Error(ErrorKind::usage, "shape " + to_string(*this) + " has too many elements");
  return static_cast<std::int64_t>(*value);
}

bool operator==(const Shape& a, const Shape& b) {
  if (a.rank_ != b.rank_) return false;
  for (int i = 0; i < a.rank_; ++i)
    if (a[i] != b[i]) return false;
  return true;
}

std::string to_string(const Shape& shape) {
  if (shape.rank() == 0) return "scalar";
  std::string s;
  for (int i = 0; i < shape.rank(); ++i) s += (i ? " x " : "") + std::to_string(shape[i]);
  return s;
}

}  // namespace hz
