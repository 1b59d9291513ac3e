// SPDX-License-Identifier: Apache-2.0
// Linear: a base weight (dense or quantized), an optional bias, any number of named adapters.
#pragma once
#include <string>
#include <vector>

#include "hanzo/ops/ops.hpp"

namespace hz::nn {

// How products with quantized weights read their input: int8 per 32 (the default), or float32.
enum class Activations { int8, f32 };

// The input of one or more Linears: the float rows, and their int8 form made once when some weight wants it.
class Activation {
 public:
  Activation() = default;
  explicit Activation(Tensor x) : x_(std::move(x)) {}
  const Tensor& x() const { return x_; }
  const QAct& q() const {
    if (!q_.defined()) q_ = quantize_activations(x_);
    return q_;
  }

 private:
  Tensor x_;
  mutable QAct q_;
};

struct Linear {
  QTensor weight;  // [out, in]; or
  Tensor dense;    // F32, F16, BF16 [out, in]
  Tensor bias;     // F32 [out], or undefined

  bool defined() const { return weight.defined() || dense.defined(); }
  std::int64_t in() const { return weight.defined() ? weight.cols() : dense.cols(); }
  std::int64_t out() const { return weight.defined() ? weight.rows() : dense.rows(); }
};

// Applies every layer to the same input, in one pass over the thread pool. Returns [tokens, out] each.
std::vector<Tensor> apply(std::initializer_list<const Linear*> layers, const Activation& x, Activations mode);
inline Tensor apply(const Linear& layer, const Activation& x, Activations mode) { return apply({&layer}, x, mode)[0]; }

}  // namespace hz::nn
