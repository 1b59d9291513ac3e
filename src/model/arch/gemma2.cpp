// SPDX-License-Identifier: Apache-2.0
// Gemma 2: RMSNorm before and after attention and mlp, every other layer sliding (the odd ones full), softcaps.
#include "hanzo/model/arch.hpp"

namespace hz::model {
extern const Arch gemma2;
const Arch gemma2{
    .name = "gemma2",
    .norm = {.place = NormPlace::both},
    .attention = {.rope = Rope::half_split, .window_period = 2, .window_full_at = 1, .window = 4096, .softcap = 50.0f},
    .mlp = {.kind = Mlp::geglu_tanh},
    .embed_scale = EmbedScale::sqrt_hidden,
    .final_softcap = 30.0f,
};
}  // namespace hz::model
