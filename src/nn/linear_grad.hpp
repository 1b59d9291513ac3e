// SPDX-License-Identifier: Apache-2.0
// Adapters on the way forward, and the gradient of layers that share an input.
#pragma once
#include <initializer_list>
#include <vector>

#include "hanzo/autograd/record.hpp"
#include "hanzo/nn/linear.hpp"

namespace hz::nn {

// One adapter applied to rows of one layer's output; what the forward pass leaves for the gradient.
struct LoraUse {
  std::size_t layer = 0;
  const LoraAdapter* adapter = nullptr;
  float scale = 1;
  std::int64_t begin = 0, count = 0;  // rows
  Tensor x = {};      // [count, in]: the rows it reads, after dropout
  Tensor u = {};      // [count, rank] = x A^T
  Tensor gain = {};   // DoRA: magnitude / n, [out]
  Tensor before = {}; // DoRA: the rows before the gain, where the magnitude is trained
};

// Adds every use to its layer's rows of y, in order.
void run_adapters(std::vector<LoraUse>& uses, std::initializer_list<const Linear*> layers, const Activation& x, std::vector<Tensor>& y);

// Records the products and adapters (not the biases) of layers with one input, where anything of them wants a gradient.
void record_linear(Tape& tape, std::initializer_list<const Linear*> layers, const Activation& x, const std::vector<LoraUse>& uses,
                   std::vector<Tensor>& y);

}  // namespace hz::nn
