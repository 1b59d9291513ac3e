// SPDX-License-Identifier: Apache-2.0
// Shape rules of the ops, as one-line checks with messages that name op, expected and got.
#pragma once
#include <string>
#include <string_view>

#include "hanzo/autograd/record.hpp"
#include "hanzo/ops/grad.hpp"
#include "hanzo/ops/ops.hpp"

namespace hz::ops {

[[noreturn]] inline void bad(std::string_view op, const std::string& what) {
  throw Error(ErrorKind::usage, "[" + std::string(op) + "] " + what);
}
inline void same_shape(std::string_view op, const Tensor& a, const Tensor& b) {
  if (!(a.shape() == b.shape())) bad(op, "shapes " + to_string(a.shape()) + " and " + to_string(b.shape()) + " differ");
}
inline void row_of(std::string_view op, const Tensor& x, const Tensor& row, std::string_view name) {
  if (row.defined() && (row.numel() != x.cols() || row.dtype() != DType::f32))
    bad(op, std::string(name) + " has " + std::to_string(row.numel()) + " values, rows have " + std::to_string(x.cols()));
}
inline Tensor like(const Tensor& x) { return Tensor::empty(x.shape(), DType::f32, x.device()); }

}  // namespace hz::ops
