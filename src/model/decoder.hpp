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
    nn::Pass pass;                         // its rows are of adapter_rows
    std::vector<nn::AdapterRows> adapter_rows;
    std::vector<std::vector<nn::AdapterUse>> adapter_uses;
    bool probe = false;                    // check every layer's output for NaN and infinity
    std::shared_ptr<const void> owner;     // keeps the decoder for a tape
  };
  // The final norm's output of the logit rows, F32 [logit_rows, hidden]; undefined when none are wanted. Under a tape that
  // asks for it, layers are checkpointed.
  Tensor hidden(const std::shared_ptr<const Batch>& batch) const;
  // F32 [rows, vocab]
  Tensor logits(const Tensor& hidden, const nn::Pass& pass) const;

 private:
  // Where a layer finds its part of the pages of the batch's segments.
  struct KvPlace {
    std::size_t offset;
    std::vector<KvSegment> segments;
  };
  // The residual stream: `delta` waits for the norm that follows, whose stage adds it.
  struct Stream {
    Tensor x, delta;
  };
  Stream layer(std::size_t i, const Stream& in, const std::shared_ptr<const Batch>& batch) const;
  Stream block(std::size_t i, Stream s, const Batch& batch, const KvPlace& kv) const;
  KvPlace scratch_pages(std::size_t layer, const Batch& batch, std::vector<std::shared_ptr<Storage>>& memory,
                        std::vector<std::vector<const std::byte*>>& tables) const;

  Tensor norm(const NormWeights& w, const Tensor& x) const;
  NormArgs norm_args(const NormWeights& w) const;
  // What a layer's attention and mlp read of their normed input.
  nn::Wanted attention_wants(const LayerWeights& w) const;
  nn::Wanted mlp_wants(const LayerWeights& w) const;
  Tensor attention(const LayerWeights& w, std::size_t layer, const nn::Activation& x, const Batch& batch, const KvPlace& kv) const;
  Tensor mlp(const LayerWeights& w, const nn::Activation& x, const nn::Pass& pass) const;
  Tensor experts(const LayerWeights& w, const nn::Activation& x, const nn::Pass& pass) const;
  void probe(const Tensor& x, const Batch& batch, const std::string& where) const;
};

}  // namespace hz::model
