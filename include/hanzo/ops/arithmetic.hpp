// SPDX-License-Identifier: Apache-2.0
// Tensors of one shape with the usual operators; scalars on either side. Each is one or two ops of ops.hpp, with gradients.
#pragma once
#include "hanzo/ops/ops.hpp"

namespace hz {

Tensor operator+(const Tensor& a, const Tensor& b);
Tensor operator-(const Tensor& a, const Tensor& b);
Tensor operator*(const Tensor& a, const Tensor& b);
Tensor operator-(const Tensor& a);
Tensor operator+(const Tensor& a, float s);
Tensor operator+(float s, const Tensor& a);
Tensor operator-(const Tensor& a, float s);
Tensor operator-(float s, const Tensor& a);
Tensor operator*(const Tensor& a, float s);
Tensor operator*(float s, const Tensor& a);

Tensor sigmoid(const Tensor& a);
Tensor tanh(const Tensor& a);
Tensor exp(const Tensor& a);
Tensor log(const Tensor& a);
Tensor silu(const Tensor& a);
Tensor relu(const Tensor& a);

}  // namespace hz
