// SPDX-License-Identifier: Apache-2.0
// The model that adapters are fuzzed against: the same bytes for the seeds and for the target.
#pragma once
#include "tests/model/tiny_model.hpp"

namespace hz::fuzz {

inline test::TinyModel tiny_base() {
  return test::TinyModel(
      {.layers = 1, .hidden = 32, .ff = 32, .vocab = 24, .context = 32, .heads = 2, .kv_heads = 1, .head_dim = 16, .type = WType::q8_0});
}

}  // namespace hz::fuzz
