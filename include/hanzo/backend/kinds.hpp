// SPDX-License-Identifier: Apache-2.0
// The small enumerations that ops, backends and device code share.
#pragma once

namespace hz {

// Elementwise functions; formulas in docs/numerics.md.
enum class Unary : int { silu, gelu_tanh, gelu_erf, gelu_quick, tanh, sigmoid, exp, log, relu, relu2, neg };
// Element type of the KV cache. Different kinds are different functions of the model.
enum class KvKind : int { f16, f32, q8_0 };
// Pairs that rope rotates: (2i, 2i + 1), or (i, i + rot / 2).
enum class Rope : int { none, adjacent, half_split };

}  // namespace hz
