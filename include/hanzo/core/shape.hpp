// SPDX-License-Identifier: Apache-2.0
// Shape: up to six dimensions, row-major (the last one is contiguous).
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>

namespace hz {

class Shape {
 public:
  static constexpr int kMaxRank = 6;

  Shape() = default;
  Shape(std::initializer_list<std::int64_t> dims);

  int rank() const { return rank_; }
  // Dimension i; negative counts from the end (-1 is the last).
  std::int64_t operator[](int i) const { return dims_[static_cast<std::size_t>(i < 0 ? i + rank_ : i)]; }
  std::int64_t& operator[](int i) { return dims_[static_cast<std::size_t>(i < 0 ? i + rank_ : i)]; }
  std::int64_t back() const { return rank_ == 0 ? 1 : (*this)[-1]; }
  // Product of all dimensions (1 for a scalar).
  std::int64_t numel() const;
  // Product of all but the last dimension: the rows of a matrix view.
  std::int64_t rows() const { return rank_ == 0 ? 1 : (back() == 0 ? 0 : numel() / back()); }
  void push_back(std::int64_t dim);

  friend bool operator==(const Shape& a, const Shape& b);
  const std::int64_t* begin() const { return dims_.data(); }
  const std::int64_t* end() const { return dims_.data() + rank_; }

 private:
  std::array<std::int64_t, kMaxRank> dims_{};
  int rank_ = 0;
};

// "512 x 576"; "scalar" for rank 0.
std::string to_string(const Shape& shape);

}  // namespace hz
