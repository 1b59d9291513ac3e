// SPDX-License-Identifier: Apache-2.0
// Arch: an architecture as data for the one generic decoder. A new one is a file under src/model/arch/ and a
// line in archs.list.
#pragma once
#include <cstdint>
#include <string_view>

#include "hanzo/backend/kinds.hpp"

namespace hz::model {

enum class Norm { rms, layer };
// pre: before attention and mlp. post: after them, before the residual addition. both: gemma2's sandwich.
enum class NormPlace { pre, post, both };
enum class QkNorm { none, per_head, full };
enum class Mlp { swiglu, geglu_tanh, gelu_tanh, gelu_erf };
// What the embedding is multiplied by.
enum class EmbedScale { none, sqrt_hidden };

struct NormSpec {
  Norm kind = Norm::rms;
  NormPlace place = NormPlace::pre;
};

struct AttentionSpec {
  Rope rope = Rope::adjacent;
  QkNorm qk_norm = QkNorm::none;
  // Sliding window: layers whose index i has (i % period) != full_at use it, where the file gives a window.
  // period 0: no layer does, whatever the file says.
  int window_period = 0, window_full_at = 0;
  std::int64_t window = 0;  // where the file does not say; 0: none
  float softcap = 0;        // of the scores, where the file does not say; 0: none
  // Rope base of the sliding layers when `rope.freq_base_swa` is absent; 0: as the other layers.
  float window_rope_base = 0;
  // false: linear rope scaling of the file applies to the full layers only.
  bool window_rope_scaled = true;
};

struct MlpSpec {
  Mlp kind = Mlp::swiglu;
};

struct ExpertSpec {
  bool allowed = false;          // the architecture may have experts (`expert_count` in the file)
  bool normalised = true;        // weights renormalised over the chosen ones
};

struct Arch {
  std::string_view name;
  NormSpec norm = {};
  AttentionSpec attention = {};
  MlpSpec mlp = {};
  ExpertSpec experts = {};
  EmbedScale embed_scale = EmbedScale::none;
  float final_softcap = 0;  // of the logits, where the file does not say; 0: none
};

// The architecture that `general.architecture` names, or null.
const Arch* find_arch(std::string_view name);
std::string_view arch_names();  // "llama, qwen2, ...", for messages

}  // namespace hz::model
