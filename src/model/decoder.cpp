// SPDX-License-Identifier: Apache-2.0
#include "src/model/decoder.hpp"

#include <cmath>
#include <utility>

#include "hanzo/nn/moe.hpp"

namespace hz::model {
namespace {

Unary gate_function(Mlp kind) { return kind == Mlp::swiglu ? Unary::silu : Unary::gelu_tanh; }

// Rows of a matrix picked by index, as a new dense matrix.
Tensor pick_rows(const Tensor& x, std::span<const std::int32_t> rows) {
  Tensor y = Tensor::empty({static_cast<std::int64_t>(rows.size()), x.cols()}, DType::f32, x.device());
  for (std::size_t i = 0; i < rows.size(); ++i)
    std::copy_n(x.data<float>() + rows[i] * x.cols(), x.cols(), y.data<float>() + static_cast<std::int64_t>(i) * x.cols());
  return y;
}

}  // namespace

Tensor Decoder::norm(const NormWeights& w, const Tensor& x) const {
  return arch->norm.kind == Norm::rms ? rms_norm(x, w.weight, hparams.norm_eps) : layer_norm(x, w.weight, w.bias, hparams.norm_eps);
}

NormArgs Decoder::norm_args(const NormWeights& w) const {
  return {arch->norm.kind == Norm::rms ? NormKind::rms : NormKind::layer, &w.weight, &w.bias, hparams.norm_eps};
}

nn::Wanted Decoder::attention_wants(const LayerWeights& w) const { return nn::wanted_by({&w.q, &w.k, &w.v}, activations); }

nn::Wanted Decoder::mlp_wants(const LayerWeights& w) const {
  if (w.router.defined()) {
    const bool codes = activations == nn::Activations::int8 && !quant::info(w.gate_experts.wtype()).floating;
    return {true, codes};
  }
  return w.gate.defined() ? nn::wanted_by({&w.gate, &w.up}, activations) : nn::wanted_by({&w.up}, activations);
}

Tensor Decoder::attention(const LayerWeights& w, std::size_t layer, const nn::Activation& x, const Batch& batch) const {
  const HParams& h = hparams;
  auto qkv = nn::apply({&w.q, &w.k, &w.v}, x, activations);
  Tensor q = qkv[0], k = qkv[1], v = qkv[2];
  const std::int64_t tokens = q.rows();
  if (arch->attention.qk_norm == QkNorm::per_head) {
    q = norm(w.q_norm, q.reshape({tokens * h.heads, h.head_dim})).reshape({tokens, q.cols()});
    k = norm(w.k_norm, k.reshape({tokens * h.kv_heads, h.head_dim})).reshape({tokens, k.cols()});
  } else if (arch->attention.qk_norm == QkNorm::full) {
    q = norm(w.q_norm, q);
    k = norm(w.k_norm, k);
  }
  const bool sliding = h.sliding[layer];
  if (arch->attention.rope != Rope::none) {
    const Tensor& table = sliding ? window_rope : rope;
    q = hz::rope(arch->attention.rope, q, batch.positions, table, h.heads);
    k = hz::rope(arch->attention.rope, k, batch.positions, table, h.kv_heads);
  }
  AttentionArgs args;
  args.kv = {pages->layers[layer], pages->offsets[layer], batch.segments};
  args.scale = h.attention_scale;
  args.softcap = h.attention_softcap;
  args.window = sliding ? h.window : 0;
  kv_write(args.kv, k, v);
  return nn::apply(w.output, nn::attention_stage(args, q, h.heads, nn::wanted_by({&w.output}, activations)), activations);
}

Tensor Decoder::experts(const LayerWeights& w, const nn::Activation& x) const {
  const Tensor p = softmax(nn::apply(w.router, x, activations));
  const nn::Routing routing = nn::route(p, hparams.experts_used, arch->experts.normalised);
  const Tensor gate = nn::apply_experts(w.gate_experts, x, routing.tokens, routing.experts, activations);
  const Tensor up = nn::apply_experts(w.up_experts, x, routing.tokens, routing.experts, activations);
  const nn::Activation h(glu(gate_function(arch->mlp.kind), gate, up));
  return nn::combine(nn::apply_experts(w.down_experts, h, routing.rows, routing.experts, activations), routing);
}

Tensor Decoder::mlp(const LayerWeights& w, const nn::Activation& x) const {
  if (w.router.defined()) return experts(w, x);
  if (w.gate.defined()) {
    auto gu = nn::apply({&w.gate, &w.up}, x, activations);
    return nn::apply(w.down, nn::glu_stage(gate_function(arch->mlp.kind), gu[0], gu[1], nn::wanted_by({&w.down}, activations)), activations);
  }
  const Unary f = arch->mlp.kind == Mlp::gelu_erf ? Unary::gelu_erf : Unary::gelu_tanh;
  return nn::apply(w.down, nn::Activation(unary(f, nn::apply(w.up, x, activations))), activations);
}

void Decoder::probe(const Tensor& x, const Batch& batch, const std::string& where) const {
  if (!batch.probe) return;
  for (std::int64_t i = 0; i < x.rows(); ++i)
    for (std::int64_t j = 0; j < x.cols(); ++j)
      if (!std::isfinite(x.data<float>()[i * x.cols() + j]))
        throw Error(ErrorKind::numeric, "NaN or infinite values after " + where + " at position " + std::to_string(batch.positions[static_cast<std::size_t>(i)]), "",
                    "the weights are damaged, or the cache kind is too narrow: try --kv f32");
}

Tensor Decoder::forward(const Batch& batch) const {
  Tensor x = embed(weights.embedding, batch.ids, device);
  if (hparams.embed_scale != 1.0f) x = scale(x, hparams.embed_scale);
  probe(x, batch, "the embedding");
  const bool pre = arch->norm.place != NormPlace::post, post = arch->norm.place != NormPlace::pre;
  // The residual addition belongs to the stage of the norm that follows it: `delta` waits for that.
  Tensor delta;
  const auto normed = [&](const NormWeights& w, nn::Wanted wanted) {
    const Tensor d = std::exchange(delta, Tensor());
    if (pre) return nn::norm_stage(x, d.defined() ? &d : nullptr, norm_args(w), wanted);
    if (d.defined()) x = add(x, d);
    return nn::Activation(x);
  };
  for (std::size_t i = 0; i < weights.layers.size(); ++i) {
    const LayerWeights& w = weights.layers[i];
    const Tensor a = attention(w, i, normed(w.attn_norm, attention_wants(w)), batch);
    delta = post ? norm(w.attn_post_norm, a) : a;
    const Tensor m = mlp(w, normed(w.ffn_norm, mlp_wants(w)));
    delta = post ? norm(w.ffn_post_norm, m) : m;
    if (batch.probe) {
      x = add(x, std::exchange(delta, Tensor()));
      probe(x, batch, "layer " + std::to_string(i));
    }
  }
  if (delta.defined()) x = add(x, delta);
  if (batch.logit_rows.empty()) return {};
  if (static_cast<std::int64_t>(batch.logit_rows.size()) != x.rows()) x = pick_rows(x, batch.logit_rows);
  Tensor logits = nn::apply(weights.head, nn::Activation(norm(weights.output_norm, x)), activations);
  if (hparams.final_softcap > 0) logits = softcap(logits, hparams.final_softcap);
  return logits;
}

}  // namespace hz::model
