// SPDX-License-Identifier: Apache-2.0
// Functional ops on tensors: each checks shapes, computes through the backend of its first operand, and
// returns a new tensor. Formulas and their order of rounding: docs/numerics.md. Errors: usage, naming op and shapes.
#pragma once
#include <span>
#include <vector>

#include "hanzo/backend/backend.hpp"

namespace hz {

// ids I32 [tokens] -> rows of table [vocab, n], decoded to F32 [tokens, n]. Ids outside the table are an error.
Tensor embed(const QTensor& table, const Tensor& ids, Device device = {});

Tensor add(const Tensor& a, const Tensor& b);          // same shape
Tensor add_row(const Tensor& a, const Tensor& row);    // row [n] added to each row of a [..., n]
Tensor mul(const Tensor& a, const Tensor& b);          // same shape
Tensor scale(const Tensor& a, float s);                // a * s
Tensor unary(Unary kind, const Tensor& a);
Tensor softcap(const Tensor& a, float cap);            // cap * tanh(a / cap)
Tensor glu(Unary kind, const Tensor& gate, const Tensor& up);  // f(gate) * up
Tensor softmax(const Tensor& x);                       // over the last axis

// y = x / sqrt(mean(x^2) + eps) * w, over the last axis. x [..., n], w [n] or undefined.
Tensor rms_norm(const Tensor& x, const Tensor& w, float eps);
// y = (x - mean) / sqrt(var + eps) * w + b. w, b [n] or undefined.
Tensor layer_norm(const Tensor& x, const Tensor& w, const Tensor& b, float eps);

// int8 codes, one scale per 32 elements; x [tokens, n], n a multiple of 32.
QAct quantize_activations(const Tensor& x);

// Rotates the first 2 * table.size(1) dimensions of each head; x [tokens, heads * head_dim],
// table F32 [positions, rot / 2, 2], positions [tokens].
Tensor rope(Rope kind, const Tensor& x, std::span<const std::int32_t> positions, const Tensor& table, int heads);

// Attention of q [tokens, heads * head_dim] over the pages of args.kv; returns [tokens, heads * value_dim].
// Grouped heads: head h reads kv head h / (heads / kv heads).
Tensor attention(const AttentionArgs& args, const Tensor& q, int heads);
// Stores k [tokens, kv heads * head_dim] and v in the pages of the batch's segments.
void kv_write(const KvBatch& kv, const Tensor& k, const Tensor& v);

// y [tokens, out] = x [tokens, in] * w^T with the int8 activations of the contract (float for float weights).
Tensor qmatmul(const QTensor& w, const Tensor& x);

}  // namespace hz
