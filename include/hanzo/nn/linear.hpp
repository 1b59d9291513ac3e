// SPDX-License-Identifier: Apache-2.0
// Linear: a base weight (dense or quantized), an optional bias, any number of named adapters.
#pragma once
#include <string>
#include <vector>

#include "hanzo/ops/ops.hpp"

namespace hz::nn {

// How products with quantized weights read their input: int8 per 32 (the default), or float32.
enum class Activations { int8, f32 };

// What the consumers of an activation read: float rows, their int8 form, or both.
struct Wanted {
  bool floats = true, codes = false;
};

// The input of one or more Linears. A fused stage makes what is wanted; the int8 form can also be made later.
class Activation {
 public:
  Activation() = default;
  explicit Activation(Tensor x) : x_(std::move(x)) {}
  Activation(Tensor x, QAct q) : x_(std::move(x)), q_(std::move(q)) {}
  std::int64_t rows() const { return x_.defined() ? x_.rows() : q_.tokens(); }
  std::int64_t cols() const { return x_.defined() ? x_.cols() : q_.cols(); }
  Device device() const { return x_.defined() ? x_.device() : q_.codes.device(); }
  // Throws usage when only codes were made.
  const Tensor& x() const;
  const QAct& q() const {
    if (!q_.defined()) q_ = quantize_activations(x());
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

// What `layers` read of their input.
Wanted wanted_by(std::initializer_list<const Linear*> layers, Activations mode);

// Fused stages (docs/numerics.md, Fused stages): each equals its parts bit for bit.
// norm(x), or norm(x + delta) with the sum left in x.
Activation norm_stage(Tensor& x, const Tensor* delta, const NormArgs& norm, Wanted wanted);
// f(gate) * up.
Activation glu_stage(Unary kind, const Tensor& gate, const Tensor& up, Wanted wanted);
Activation attention_stage(const AttentionArgs& args, const Tensor& q, int heads, Wanted wanted);

// Applies every layer to the same input, in one pass over the thread pool. Returns [tokens, out] each.
std::vector<Tensor> apply(std::initializer_list<const Linear*> layers, const Activation& x, Activations mode);
inline Tensor apply(const Linear& layer, const Activation& x, Activations mode) { return apply({&layer}, x, mode)[0]; }

}  // namespace hz::nn
