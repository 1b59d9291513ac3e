// SPDX-License-Identifier: Apache-2.0
// Qwen2 dense: pre-RMSNorm, biases on q, k, v, rope on halves, SwiGLU.
#include "hanzo/model/arch.hpp"

namespace hz::model {
extern const Arch qwen2;
const Arch qwen2{
    .name = "qwen2",
    .attention = {.rope = Rope::half_split},
    .mlp = {.kind = Mlp::swiglu},
};
}  // namespace hz::model
