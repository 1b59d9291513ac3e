// SPDX-License-Identifier: Apache-2.0
// Hyper-parameters of a model, read from metadata and checked against closed ranges before anything uses them.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "hanzo/io/metadata.hpp"
#include "hanzo/model/arch.hpp"

namespace hz::model {

struct RopeScaling {
  float factor = 1.0f;  // positions are divided by it (linear)
};

struct HParams {
  std::string name;               // general.name, or empty
  std::int64_t layers = 0, hidden = 0, vocab = 0, context = 0;
  int heads = 0, kv_heads = 0;
  int head_dim = 0, value_dim = 0;
  std::int64_t ff = 0;            // of the dense mlp
  int experts = 0, experts_used = 0;
  std::int64_t expert_ff = 0;
  float norm_eps = 0;
  int rope_dim = 0;               // rotated dimensions of a head
  float rope_base = 10000.0f, window_rope_base = 10000.0f;
  RopeScaling rope_scaling, window_rope_scaling;
  std::int64_t window = 0;        // positions a sliding layer sees, itself included; 0: none
  std::vector<bool> sliding;      // per layer
  float attention_scale = 0;
  float attention_softcap = 0, final_softcap = 0;
  float embed_scale = 1.0f;
};

// Throws Error(bad_file) naming the key, its value and the range.
HParams read_hparams(const Arch& arch, const io::Metadata& meta);

}  // namespace hz::model
