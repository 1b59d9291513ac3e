// SPDX-License-Identifier: Apache-2.0
// FloatWeights: the weights of a float model as variables, for full fine-tuning, and their way back into a GGUF file.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "hanzo/autograd/var.hpp"
#include "hanzo/core/progress.hpp"
#include "hanzo/model/model.hpp"

namespace hz {

// Copies of the model's weights: the embedding, every layer's weight and bias, norms, and the head where it is not the
// embedding. Matrices keep the file's type (F32, F16, BF16); vectors are F32. Tables of the rotation are not trained.
class FloatWeights {
 public:
  // Throws unsupported naming the first matrix that is not of a float type, and for experts.
  static FloatWeights of(const Model& model);

  // Matrices, then vectors, under the names of the file's tensors: "token_embd.weight", "blk.0.attn_q.weight", ...
  const std::vector<Var>& parameters() const { return parameters_; }
  // Null where the model has no such tensor.
  const Var* find(const std::string& name) const;

  // A GGUF file with the base's metadata and order of tensors, and these values in their places. What the forward pass of
  // training computed, a model loaded from it computes, bit for bit. Atomic; throws io.
  void save(const Model& base, const std::filesystem::path& file, const Progress& progress = {}) const;

 private:
  std::vector<Var> parameters_;
};

namespace nn {
// Replaces `model` by one whose weights are variables. Other handles of the model stay as they are.
FloatWeights train_weights(Model& model);
}  // namespace nn

}  // namespace hz
