// SPDX-License-Identifier: Apache-2.0
// Weights: a model's tensors bound to their places, shapes checked against the hyper-parameters.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "hanzo/io/gguf.hpp"
#include "hanzo/model/hparams.hpp"
#include "hanzo/nn/linear.hpp"

namespace hz::model {

// A norm's weight and bias; undefined where the architecture has none.
struct NormWeights {
  Tensor weight, bias;
};

struct LayerWeights {
  NormWeights attn_norm, attn_post_norm, ffn_norm, ffn_post_norm, q_norm, k_norm;
  nn::Linear q, k, v, output;
  nn::Linear gate, up, down;
  nn::Linear router;                                // [experts, hidden]; defined where the layer has experts
  QTensor gate_experts, up_experts, down_experts;   // [experts, out, in]
};

struct Weights {
  QTensor embedding;  // [vocab, hidden]; or
  Tensor dense_embedding;  // the same in floats, where it is trained
  NormWeights output_norm;
  nn::Linear head;    // [vocab, hidden]; the embedding where tied
  bool tied = false;  // the head is the embedding
  Tensor rope_divisors;  // [rope_dim / 2] or undefined
  std::vector<LayerWeights> layers;
  std::vector<std::string> unused;  // tensors of the file that the architecture does not name
};

// Throws Error(bad_file) naming tensor, expected and found shape. Sets hparams.vocab from the embedding when 0.
Weights bind_weights(const Arch& arch, HParams& hparams, const io::Gguf& file);
// Calls f(name, layer) for every Linear: "blk.0.attn_q", ..., "output" (not where tied to the embedding).
void for_each_linear(Weights& weights, const std::function<void(const std::string&, nn::Linear&)>& f);
void for_each_linear(const Weights& weights, const std::function<void(const std::string&, const nn::Linear&)>& f);
// Copies the F32 vectors (norms, biases) into the memory of `device`; matrices stay the file's bytes, of which a backend makes
// its own packed form.
void move_vectors(Weights& weights, Device device);
// See Model::base_sha256.
std::string tensors_sha256(const io::Gguf& file);
// Error(bad_file) naming the first tensor and row with a NaN or infinite scale or weight.
void check_finite(const io::Gguf& file, int threads, const Progress& progress);

}  // namespace hz::model
