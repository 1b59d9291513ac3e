// SPDX-License-Identifier: Apache-2.0
// Checkpointing: a part of the forward pass keeps only its inputs and is computed again for its gradient.
#pragma once
#include <functional>
#include <span>
#include <vector>

#include "hanzo/autograd/record.hpp"

namespace hz {

// Runs f(inputs). Under a tape nothing inside is kept: the gradient runs f once more, under a tape of its own, with the
// same inputs. f must give the same bits again: it may read and must not change anything outside, and `recompute` tells
// the second run from the first (its side effects, such as KV pages, go to scratch memory then).
// Variables that f captures get their gradients. Without a tape: a plain call.
using CheckpointBody = std::function<std::vector<Tensor>(std::span<const Tensor> inputs, bool recompute)>;
std::vector<Tensor> checkpoint(const CheckpointBody& f, std::span<const Tensor> inputs);

}  // namespace hz
