// SPDX-License-Identifier: Apache-2.0
// The generic decoder: one forward pass for every architecture, written in ops.
#pragma once
#include "hanzo/model/model.hpp"
#include "hanzo/model/weights.hpp"

namespace hz::model {

struct Decoder {
  const Arch* arch = nullptr;
  HParams hparams;
  Weights weights;
  Tensor rope, window_rope;  // tables of the full and of the sliding layers
  nn::Activations activations = nn::Activations::int8;
  std::shared_ptr<const PageLayout> pages;
  Device device;

  // One batch of rows: token ids, their positions, and the segments that address the cache.
  struct Batch {
    Tensor ids;                            // I32 [tokens]
    std::vector<std::int32_t> positions;   // [tokens]
    std::vector<KvSegment> segments;
    std::vector<std::int32_t> logit_rows;  // rows whose logits are wanted
    bool probe = false;                    // check every layer's output for NaN and infinity
  };
  // F32 [logit_rows, vocab]; undefined when none are wanted.
  Tensor forward(const Batch& batch) const;

 private:
  Tensor norm(const NormWeights& w, const Tensor& x) const;
  NormArgs norm_args(const NormWeights& w) const;
  // What a layer's attention and mlp read of their normed input.
  nn::Wanted attention_wants(const LayerWeights& w) const;
  nn::Wanted mlp_wants(const LayerWeights& w) const;
  Tensor attention(const LayerWeights& w, std::size_t layer, const nn::Activation& x, const Batch& batch) const;
  Tensor mlp(const LayerWeights& w, const nn::Activation& x) const;
  Tensor experts(const LayerWeights& w, const nn::Activation& x) const;
  void probe(const Tensor& x, const Batch& batch, const std::string& where) const;
};

}  // namespace hz::model
