// SPDX-License-Identifier: Apache-2.0
// Qwen3 dense: pre-RMSNorm, per-head q/k RMSNorm before half-split rope, SwiGLU.
#include "hanzo/model/arch.hpp"

namespace hz::model {
extern const Arch qwen3;
const Arch qwen3{
    .name = "qwen3",
    .attention = {.rope = Rope::half_split, .qk_norm = QkNorm::per_head},
    .mlp = {.kind = Mlp::swiglu},
};
}  // namespace hz::model
