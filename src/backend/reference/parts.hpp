// SPDX-License-Identifier: Apache-2.0
// What the reference backend's ops share: rows, elementary functions in double, weights as floats.
#pragma once
#include <cmath>
#include <numbers>
#include <vector>

#include "src/backend/reference/reference.hpp"

namespace hz::reference {

inline const float* row(const Tensor& t, std::int64_t i) { return t.data<float>() + i * t.cols(); }
inline float* row(Tensor& t, std::int64_t i) { return t.data<float>() + i * t.cols(); }

inline double apply(Unary kind, double x) {
  switch (kind) {
    case Unary::silu: return x / (1 + std::exp(-x));
    case Unary::gelu_tanh: return 0.5 * x * (1 + std::tanh(std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x)));
    case Unary::gelu_erf: return 0.5 * x * std::erfc(-x / std::numbers::sqrt2);
    case Unary::gelu_quick: return x / (1 + std::exp(-1.702 * x));
    case Unary::tanh: return std::tanh(x);
    case Unary::sigmoid: return 1 / (1 + std::exp(-x));
    case Unary::exp: return std::exp(x);
    case Unary::log: return std::log(x);
    case Unary::relu: return x > 0 ? x : 0;
    case Unary::relu2: return x > 0 ? x * x : 0;
    case Unary::neg: return -x;
  }
  return x;
}

// Row i of a weight in float, whatever it is stored as.
inline std::vector<float> weight_row(const QTensor* w_or_null, const Tensor* dense, std::int64_t i) {
  std::vector<float> w(static_cast<std::size_t>(w_or_null ? w_or_null->cols() : dense->cols()));
  if (w_or_null != nullptr) {
    w_or_null->decode_row(i, w.data());
    return w;
  }
  const Tensor& d = *dense;
  for (std::size_t k = 0; k < w.size(); ++k) {
    const std::int64_t at = i * d.cols() + static_cast<std::int64_t>(k);
    w[k] = d.dtype() == DType::f32   ? d.data<float>()[at]
           : d.dtype() == DType::f16 ? to_float(d.data<Half>()[at])
                                     : to_float(d.data<BFloat16>()[at]);
  }
  return w;
}

}  // namespace hz::reference
