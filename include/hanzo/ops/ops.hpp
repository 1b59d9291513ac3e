// SPDX-License-Identifier: Apache-2.0
// Functional ops on tensors: each checks shapes, computes through the backend of its first operand, and
// returns a new tensor. Under an active tape (autograd/tape.hpp) an op is recorded with its gradient. Formulas and their order of rounding:
// docs/numerics.md. Errors: usage, naming op and shapes.
#pragma once
#include <span>
#include <vector>

#include "hanzo/backend/backend.hpp"
#include "hanzo/core/random.hpp"

namespace hz {

// ids I32 [tokens] -> rows of table [vocab, n], decoded to F32 [tokens, n]. Ids outside the table are an error.
Tensor embed(const QTensor& table, const Tensor& ids, Device device = {});
// The same of a float table (F32, F16, BF16), which may be trained: row ids[i] gets the gradient of row i, i ascending.
Tensor embed(const Tensor& table, const Tensor& ids);

Tensor add(const Tensor& a, const Tensor& b);          // same shape
Tensor add_row(const Tensor& a, const Tensor& row);    // row [n] added to each row of a [..., n]
Tensor mul(const Tensor& a, const Tensor& b);          // same shape
Tensor mul_row(const Tensor& a, const Tensor& row);    // each row of a [..., n] times row [n]
Tensor scale(const Tensor& a, float s);                // a * s
Tensor add_scalar(const Tensor& a, float s);           // a + s
Tensor unary(Unary kind, const Tensor& a);
Tensor softcap(const Tensor& a, float cap);            // cap * tanh(a / cap)
Tensor glu(Unary kind, const Tensor& gate, const Tensor& up);  // f(gate) * up
Tensor softmax(const Tensor& x);                       // over the last axis
// Elements zeroed with probability p in [0, 1), the others divided by 1 - p. The mask is a function of (seed, stream, index).
Tensor dropout(const Tensor& x, float p, Seed seed, std::uint64_t stream);
Tensor sum(const Tensor& x);                           // of all elements: [1]
Tensor slice_rows(const Tensor& x, std::int64_t begin, std::int64_t end);         // a view of rows [begin, end) of x [rows, ...]
Tensor pick_rows(const Tensor& x, std::span<const std::int32_t> rows);            // row rows[i] of x [n, cols] as row i of a new tensor

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
// The weight has no gradient; x gets dx = dy * w.
Tensor qmatmul(const QTensor& w, const Tensor& x);
// y [tokens, out] = x [tokens, in] * w^T for F32, F16 or BF16 w [out, in], by the rule for float weights; an F32 w may be trained.
Tensor matmul(const Tensor& w, const Tensor& x);

}  // namespace hz
