// SPDX-License-Identifier: Apache-2.0
#include "src/model/decoder.hpp"

#include <cmath>
#include <utility>

#include "hanzo/autograd/checkpoint.hpp"
#include "hanzo/nn/moe.hpp"

namespace hz::model {
namespace {

Unary gate_function(Mlp kind) { return kind == Mlp::swiglu ? Unary::silu : Unary::gelu_tanh; }

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

Tensor Decoder::attention(const LayerWeights& w, std::size_t layer, const nn::Activation& x, const Batch& batch, const KvPlace& kv) const {
  const HParams& h = hparams;
  auto qkv = nn::apply({&w.q, &w.k, &w.v}, x, batch.pass);
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
  args.kv = {pages->layers[layer], kv.offset, kv.segments};
  args.scale = h.attention_scale;
  args.softcap = h.attention_softcap;
  args.window = sliding ? h.window : 0;
  args.k = &k;
  args.v = &v;
  kv_write(args.kv, k, v);
  return nn::apply(w.output, nn::attention_stage(args, q, h.heads, nn::wanted_by({&w.output}, activations)), batch.pass);
}

Tensor Decoder::experts(const LayerWeights& w, const nn::Activation& x, const nn::Pass& pass) const {
  const Tensor p = softmax(nn::apply(w.router, x, pass));
  const nn::Routing routing = nn::route(p, hparams.experts_used, arch->experts.normalised);
  const Tensor gate = nn::apply_experts(w.gate_experts, x, routing.tokens, routing.experts, activations);
  const Tensor up = nn::apply_experts(w.up_experts, x, routing.tokens, routing.experts, activations);
  const nn::Activation h(glu(gate_function(arch->mlp.kind), gate, up));
  return nn::combine(nn::apply_experts(w.down_experts, h, routing.rows, routing.experts, activations), routing);
}

Tensor Decoder::mlp(const LayerWeights& w, const nn::Activation& x, const nn::Pass& pass) const {
  if (w.router.defined()) return experts(w, x, pass);
  if (w.gate.defined()) {
    auto gu = nn::apply({&w.gate, &w.up}, x, pass);
    return nn::apply(w.down, nn::glu_stage(gate_function(arch->mlp.kind), gu[0], gu[1], nn::wanted_by({&w.down}, activations)), pass);
  }
  const Unary f = arch->mlp.kind == Mlp::gelu_erf ? Unary::gelu_erf : Unary::gelu_tanh;
  return nn::apply(w.down, nn::Activation(unary(f, nn::apply(w.up, x, pass))), pass);
}

void Decoder::probe(const Tensor& x, const Batch& batch, const std::string& where) const {
  if (!batch.probe) return;
  const Tensor seen = x.to({});
  for (std::int64_t i = 0; i < x.rows(); ++i)
    for (std::int64_t j = 0; j < x.cols(); ++j)
      if (!std::isfinite(seen.data<float>()[i * x.cols() + j]))
        throw Error(
            ErrorKind::numeric,
            "NaN or infinite values after " + where + " at position " + std::to_string(batch.positions[static_cast<std::size_t>(i)]), "",
            "the weights are damaged, or the cache kind is too narrow: try --kv f32");
}

Decoder::Stream Decoder::block(std::size_t i, Stream s, const Batch& batch, const KvPlace& kv) const {
  const LayerWeights& w = weights.layers[i];
  const bool pre = arch->norm.place != NormPlace::post, post = arch->norm.place != NormPlace::pre;
  // The residual addition belongs to the stage of the norm that follows it.
  const auto normed = [&](const NormWeights& n, nn::Wanted wanted) {
    const Tensor d = std::exchange(s.delta, Tensor());
    if (pre) return nn::norm_stage(s.x, d.defined() ? &d : nullptr, norm_args(n), wanted);
    if (d.defined()) s.x = add(s.x, d);
    return nn::Activation(s.x);
  };
  const Tensor a = attention(w, i, normed(w.attn_norm, attention_wants(w)), batch, kv);
  s.delta = post ? norm(w.attn_post_norm, a) : a;
  const Tensor m = mlp(w, normed(w.ffn_norm, mlp_wants(w)), batch.pass);
  s.delta = post ? norm(w.ffn_post_norm, m) : m;
  return s;
}

// The layer's part of the pages as copies of their own: a layer computed again stores its K and V there, for others may
// read the sequence's pages meanwhile.
Decoder::KvPlace Decoder::scratch_pages(std::size_t layer, const Batch& batch, std::vector<std::shared_ptr<Storage>>& memory,
                                        std::vector<std::vector<const std::byte*>>& tables) const {
  const std::size_t bytes = (layer + 1 < pages->offsets.size() ? pages->offsets[layer + 1] : pages->bytes) - pages->offsets[layer];
  KvPlace place{0, batch.segments};
  tables.reserve(place.segments.size());
  for (KvSegment& seg : place.segments) {
    auto& table = tables.emplace_back();
    for (std::int64_t page = 0; page * kKvPage < seg.position + seg.count; ++page) {
      memory.push_back(pages->memory->allocate(bytes));
      if (page * kKvPage < seg.position) {
        Storage from;
        from.data = const_cast<std::byte*>(seg.pages[page]);
        from.bytes = pages->bytes;
        from.host = pages->memory->on_host();
        pages->memory->copy(from, pages->offsets[layer], *memory.back(), 0, bytes);
      }
      table.push_back(memory.back()->data);
    }
    seg.pages = table.data();
    seg.pin = nullptr;
  }
  return place;
}

Decoder::Stream Decoder::layer(std::size_t i, const Stream& in, const std::shared_ptr<const Batch>& batch) const {
  const Tape* tape = Tape::active();
  if (tape == nullptr || !tape->options().checkpoint) return block(i, in, *batch, {pages->offsets[i], batch->segments});
  const CheckpointBody body = [this, i, batch](std::span<const Tensor> s, bool recompute) {
    // The gradient within the recomputation reads scratch pages: they live until it is done, with the tape's records.
    struct Scratch {
      std::vector<std::shared_ptr<Storage>> memory;
      std::vector<std::vector<const std::byte*>> tables;
    };
    KvPlace kv{pages->offsets[i], batch->segments};
    if (recompute) {
      const auto scratch = std::make_shared<Scratch>();
      kv = scratch_pages(i, *batch, scratch->memory, scratch->tables);
      for (KvSegment& seg : kv.segments) seg.pin = scratch;
    }
    const Stream out = block(i, {s[0], s[1]}, *batch, kv);
    return std::vector<Tensor>{out.x, out.delta};
  };
  const Tensor inputs[] = {in.x, in.delta};
  std::vector<Tensor> out = checkpoint(body, inputs);
  return {std::move(out[0]), std::move(out[1])};
}

Tensor Decoder::hidden(const std::shared_ptr<const Batch>& batch) const {
  Stream s{weights.dense_embedding.defined() ? embed(weights.dense_embedding, batch->ids) : embed(weights.embedding, batch->ids, device),
           {}};
  if (hparams.embed_scale != 1.0f) s.x = scale(s.x, hparams.embed_scale);
  probe(s.x, *batch, "the embedding");
  for (std::size_t i = 0; i < weights.layers.size(); ++i) {
    s = layer(i, s, batch);
    if (batch->probe) {
      s.x = add(s.x, std::exchange(s.delta, Tensor()));
      probe(s.x, *batch, "layer " + std::to_string(i));
    }
  }
  if (s.delta.defined()) s.x = add(s.x, s.delta);
  if (batch->logit_rows.empty()) return {};
  if (static_cast<std::int64_t>(batch->logit_rows.size()) != s.x.rows()) s.x = pick_rows(s.x, batch->logit_rows);
  return norm(weights.output_norm, s.x);
}

Tensor Decoder::logits(const Tensor& hidden, const nn::Pass& pass) const {
  const Tensor y = nn::apply(weights.head, nn::Activation(hidden), pass);
  return hparams.final_softcap > 0 ? softcap(y, hparams.final_softcap) : y;
}

}  // namespace hz::model
