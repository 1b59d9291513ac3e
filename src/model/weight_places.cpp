// SPDX-License-Identifier: Apache-2.0
#include "src/model/weight_places.hpp"

namespace hz::model {
namespace {

std::string block(std::size_t i) { return "blk." + std::to_string(i) + "."; }

}  // namespace

void for_each_matrix(Weights& weights, const std::function<void(const std::string&, QTensor&, Tensor&)>& f) {
  f("token_embd.weight", weights.embedding, weights.dense_embedding);
  for_each_linear(weights, [&](const std::string& name, nn::Linear& l) { f(name + ".weight", l.weight, l.dense); });
}

void for_each_vector(Weights& weights, const std::function<void(const std::string&, Tensor&)>& f) {
  const auto norm = [&](const std::string& name, NormWeights& w) {
    if (w.weight.defined()) f(name + ".weight", w.weight);
    if (w.bias.defined()) f(name + ".bias", w.bias);
  };
  for (std::size_t i = 0; i < weights.layers.size(); ++i) {
    LayerWeights& w = weights.layers[i];
    norm(block(i) + "attn_norm", w.attn_norm);
    norm(block(i) + "attn_q_norm", w.q_norm);
    norm(block(i) + "attn_k_norm", w.k_norm);
    norm(block(i) + "post_attention_norm", w.attn_post_norm);
    norm(block(i) + "ffn_norm", w.ffn_norm);
    norm(block(i) + "post_ffw_norm", w.ffn_post_norm);
  }
  norm("output_norm", weights.output_norm);
  for_each_linear(weights, [&](const std::string& name, nn::Linear& l) {
    if (l.bias.defined()) f(name + ".bias", l.bias);
  });
}

std::uint64_t version_of(const Weights& weights) {
  std::uint64_t sum = weights.dense_embedding.defined() ? weights.dense_embedding.version() : 0;
  const auto add = [&](const Tensor& t) { sum += t.defined() ? t.version() : 0; };
  for_each_linear(weights, [&](const std::string&, const nn::Linear& l) {
    add(l.dense);
    add(l.bias);
    for (const nn::LoraAdapter& a : l.adapters)
      for (const Var* v : {&a.a, &a.b, &a.magnitude}) add(v->tensor());
  });
  const auto norm = [&](const NormWeights& w) {
    add(w.weight);
    add(w.bias);
  };
  for (const LayerWeights& w : weights.layers)
    for (const NormWeights* n : {&w.attn_norm, &w.attn_post_norm, &w.ffn_norm, &w.ffn_post_norm, &w.q_norm, &w.k_norm}) norm(*n);
  norm(weights.output_norm);
  return sum;
}

void place(Weights& weights, const FloatWeights& values) {
  const auto value = [&](const std::string& name, const Shape& shape) {
    const Var* v = values.find(name);
    if (v == nullptr) throw Error(ErrorKind::usage, "[with_weights] there is no value for " + name);
    if (!(v->shape() == shape))
      throw Error(ErrorKind::usage, "[with_weights] " + name + " is " + to_string(v->shape()) + ", the model needs " + to_string(shape));
    return v->tensor();
  };
  for_each_matrix(weights, [&](const std::string& name, QTensor& blocks, Tensor& dense) {
    dense = value(name, blocks.defined() ? blocks.shape() : dense.shape());
    blocks = {};
  });
  if (weights.tied) {
    weights.head.weight = {};
    weights.head.dense = weights.dense_embedding;
  }
  for_each_vector(weights, [&](const std::string& name, Tensor& v) { v = value(name, v.shape()); });
}

}  // namespace hz::model
