// SPDX-License-Identifier: Apache-2.0
// Linear: a base weight (dense or quantized), an optional bias, any number of named adapters.
#pragma once
#include <string>
#include <vector>

#include "hanzo/nn/adapter.hpp"
#include "hanzo/ops/ops.hpp"

namespace hz::nn {

// How products with quantized weights read their input: int8 per 32 (the default), or float32.
enum class Activations { int8, f32 };

// How a pass applies its layers: the kind of the products' input, and which rows use which adapters.
struct Pass {
  Activations mode = Activations::int8;
  bool all_adapters = true;               // every row uses every adapter at its own scale; else as `rows` says
  std::span<const AdapterRows> rows = {};

  Pass() = default;
  Pass(Activations m) : mode(m) {}  // NOLINT(google-explicit-constructor)
  Pass(Activations m, std::span<const AdapterRows> r) : mode(m), all_adapters(false), rows(r) {}
};

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
  // Identity under a tape.
  std::uint64_t grad_id() const { return x_.defined() ? x_.grad_id() : q_.grad_id; }
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
  Tensor dense;    // F32, F16, BF16 [out, in]; a Var's tensor is trained (F32)
  Tensor bias;     // F32 [out], or undefined
  std::vector<LoraAdapter> adapters = {};

  bool defined() const { return weight.defined() || dense.defined(); }
  std::int64_t in() const { return weight.defined() ? weight.cols() : dense.cols(); }
  std::int64_t out() const { return weight.defined() ? weight.rows() : dense.rows(); }
};

// What `layers` read of their input: adapters read floats.
Wanted wanted_by(std::initializer_list<const Linear*> layers, Activations mode);

// Fused stages (docs/numerics.md, Fused stages): each equals its parts bit for bit, and is recorded by an active tape.
// norm(x), or norm(x + delta) with the sum left in x.
Activation norm_stage(Tensor& x, const Tensor* delta, const NormArgs& norm, Wanted wanted);
// f(gate) * up.
Activation glu_stage(Unary kind, const Tensor& gate, const Tensor& up, Wanted wanted);
Activation attention_stage(const AttentionArgs& args, const Tensor& q, int heads, Wanted wanted);

// Applies every layer to the same input, in one pass over the thread pool. Returns [tokens, out] each: the product with
// the base, then its adapters in their order, then the bias.
std::vector<Tensor> apply(std::initializer_list<const Linear*> layers, const Activation& x, const Pass& pass);
inline Tensor apply(const Linear& layer, const Activation& x, const Pass& pass) { return apply({&layer}, x, pass)[0]; }

}  // namespace hz::nn
