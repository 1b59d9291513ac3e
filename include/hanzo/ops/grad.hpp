// SPDX-License-Identifier: Apache-2.0
// Gradients that fused stages share with the ops they fuse.
#pragma once
#include "hanzo/autograd/record.hpp"
#include "hanzo/ops/ops.hpp"

namespace hz::ops {

struct NormGrads {
  Tensor dx, dw, db;  // those that were wanted
};
NormGrads norm_grad(const NormArgs& norm, const Tensor& x, const Tensor& dy, bool want_dx, bool want_dw, bool want_db);

// The sum over the rows of a, ascending, as `shape` (a.cols() elements).
Tensor column_sum(const Tensor& a, const Shape& shape);

// Element i of a float tensor (F32, F16, BF16).
inline float dense_value(const Tensor& t, std::int64_t i) {
  if (t.dtype() == DType::f32) return t.data<float>()[i];
  return t.dtype() == DType::f16 ? to_float(t.data<Half>()[i]) : to_float(t.data<BFloat16>()[i]);
}

// For record(): inputs gate, up.
std::function<void(Backward&)> glu_backward(Unary kind, const Tensor& gate, const Tensor& up);
void check_attention(const AttentionArgs& args, const Tensor& q, int heads);
std::uint64_t attention_id(const Tensor* t);  // identity of an optional operand
// inputs q, k, v, sinks. `args` is copied; its segments must be pinned (KvSegment::pin) or outlive the tape. stats: what
// attention left in args.stats.
std::function<void(Backward&)> attention_backward(const AttentionArgs& args, const Tensor& q, int heads, const Tensor& out,
                                                  const Tensor& stats);

}  // namespace hz::ops
