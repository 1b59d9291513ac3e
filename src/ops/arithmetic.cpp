// SPDX-License-Identifier: Apache-2.0
// Operators on tensors, in terms of the ops.
#include "hanzo/ops/arithmetic.hpp"

namespace hz {

Tensor operator+(const Tensor& a, const Tensor& b) { return add(a, b); }
Tensor operator-(const Tensor& a, const Tensor& b) { return add(a, unary(Unary::neg, b)); }
Tensor operator*(const Tensor& a, const Tensor& b) { return mul(a, b); }
Tensor operator-(const Tensor& a) { return unary(Unary::neg, a); }
Tensor operator+(const Tensor& a, float s) { return add_scalar(a, s); }
Tensor operator+(float s, const Tensor& a) { return add_scalar(a, s); }
Tensor operator-(const Tensor& a, float s) { return add_scalar(a, -s); }
Tensor operator-(float s, const Tensor& a) { return add_scalar(unary(Unary::neg, a), s); }
Tensor operator*(const Tensor& a, float s) { return scale(a, s); }
Tensor operator*(float s, const Tensor& a) { return scale(a, s); }

Tensor sigmoid(const Tensor& a) { return unary(Unary::sigmoid, a); }
Tensor tanh(const Tensor& a) { return unary(Unary::tanh, a); }
Tensor exp(const Tensor& a) { return unary(Unary::exp, a); }
Tensor log(const Tensor& a) { return unary(Unary::log, a); }
Tensor silu(const Tensor& a) { return unary(Unary::silu, a); }
Tensor relu(const Tensor& a) { return unary(Unary::relu, a); }

}  // namespace hz
