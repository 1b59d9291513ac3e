// SPDX-License-Identifier: Apache-2.0
// Gemma 1: pre-RMSNorm (the file's weights hold the 1 +), half-split rope, GeGLU, embedding times sqrt(hidden).
#include "hanzo/model/arch.hpp"

namespace hz::model {
extern const Arch gemma;
const Arch gemma{
    .name = "gemma",
    .attention = {.rope = Rope::half_split},
    .mlp = {.kind = Mlp::geglu_tanh},
    .embed_scale = EmbedScale::sqrt_hidden,
};
}  // namespace hz::model
