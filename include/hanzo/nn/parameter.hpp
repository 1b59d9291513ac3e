// SPDX-License-Identifier: Apache-2.0
// Parameter: a trainable tensor under its dotted name.
#pragma once
#include <string>

#include "hanzo/core/tensor.hpp"

namespace hz::nn {

struct Parameter {
  std::string name;  // stable, e.g. "blk.0.attn_q.lora_a"
  Tensor value;      // F32, F16 or BF16, contiguous; updated in place by an optimizer
};

}  // namespace hz::nn
