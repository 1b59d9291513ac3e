// SPDX-License-Identifier: Apache-2.0
// Gemma 3: sandwich norms, per-head q/k RMSNorm, five sliding layers to one full, a rope base for each kind.
#include "hanzo/model/arch.hpp"

namespace hz::model {
extern const Arch gemma3;
const Arch gemma3{
    .name = "gemma3",
    .norm = {.place = NormPlace::both},
    .attention = {.rope = Rope::half_split, .qk_norm = QkNorm::per_head, .window_period = 6, .window_full_at = 5,
                  .window_rope_base = 10000.0f, .window_rope_scaled = false},
    .mlp = {.kind = Mlp::geglu_tanh},
    .embed_scale = EmbedScale::sqrt_hidden,
};
}  // namespace hz::model
