// SPDX-License-Identifier: Apache-2.0
// Mixture of experts: routing, products of rows with their experts, and the weighted sum.
#pragma once
#include <vector>

#include "hanzo/nn/linear.hpp"

namespace hz::nn {

// One row per (token, chosen expert): tokens ascending, experts ascending within a token.
struct Routing {
  std::int64_t used = 0;               // experts per token
  std::vector<std::int32_t> tokens;    // token of each row
  std::vector<std::int32_t> experts;   // expert of each row
  std::vector<std::int32_t> rows;      // 0, 1, 2, ...
  Tensor weights;                      // F32 [tokens, used]
};

// The `used` largest probabilities of each row of p [tokens, experts], ties to the lower id. normalised: divided by
// their sum, taken in ascending order of the expert.
Routing route(const Tensor& p, int used, bool normalised);
// Row i of the result is row x_rows[i] of x times expert experts[i] of w [experts, out, in], transposed.
Tensor apply_experts(const QTensor& w, const Activation& x, std::span<const std::int32_t> x_rows, std::span<const std::int32_t> experts,
                     Activations mode);
// y[token] = sum over its rows of weight * row, by fma in ascending order of the expert, from +0.
Tensor combine(const Tensor& rows, const Routing& routing);

}  // namespace hz::nn
