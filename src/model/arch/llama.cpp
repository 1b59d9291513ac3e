// SPDX-License-Identifier: Apache-2.0
// Llama 1-3, Mistral, SmolLM2 and their kin: pre-RMSNorm, rope on adjacent pairs, SwiGLU; Mixtral's experts.
#include "hanzo/model/arch.hpp"

namespace hz::model {
extern const Arch llama;
const Arch llama{
    .name = "llama",
    .attention = {.rope = Rope::adjacent},
    .mlp = {.kind = Mlp::swiglu},
    .experts = {.allowed = true},
};
}  // namespace hz::model
