// SPDX-License-Identifier: Apache-2.0
// Tiny random models, written as GGUF by the tests.
#pragma once
#include <filesystem>
#include <string>

#include "hanzo/io/gguf_writer.hpp"
#include "tests/random.hpp"

namespace hz::test {

struct TinySpec {
  std::string arch = "llama";
  std::int64_t layers = 2, hidden = 64, ff = 96, vocab = 80, context = 512;
  int heads = 4, kv_heads = 2, head_dim = 16;
  WType type = WType::f32;
  int experts = 0, experts_used = 0;
  std::int64_t window = 0;
  bool biases = false, qk_norm = false, post_norm = false, tied = false;
};

class TinyModel {
 public:
  explicit TinyModel(const TinySpec& s) : spec_(s) {
    auto& m = writer_.metadata();
    m.set("general.architecture", {s.arch});
    number("block_count", s.layers);
    number("embedding_length", s.hidden);
    number("feed_forward_length", s.ff);
    number("context_length", s.context);
    number("attention.head_count", s.heads);
    number("attention.head_count_kv", s.kv_heads);
    number("attention.key_length", s.head_dim);
    number("attention.value_length", s.head_dim);
    m.set(s.arch + ".attention.layer_norm_rms_epsilon", {1e-5f});
    if (s.window > 0) number("attention.sliding_window", s.window);
    if (s.experts > 0) {
      number("expert_count", s.experts);
      number("expert_used_count", s.experts_used);
    }
    matrix("token_embd.weight", {s.vocab, s.hidden});
    vector("output_norm.weight", s.hidden);
    if (!s.tied) matrix("output.weight", {s.vocab, s.hidden});
    for (std::int64_t i = 0; i < s.layers; ++i) layer("blk." + std::to_string(i) + ".");
  }
  io::GgufWriter& writer() { return writer_; }
  void write(const std::filesystem::path& file) const { writer_.write(file); }

 private:
  void number(const std::string& key, std::int64_t v) { writer_.metadata().set(spec_.arch + "." + key, {static_cast<std::uint32_t>(v)}); }
  void matrix(const std::string& name, const Shape& shape) {
    Tensor t = Tensor::empty(shape);
    const float gain = 1.5f / std::sqrt(static_cast<float>(shape.back()));
    for (std::int64_t i = 0; i < t.numel(); ++i) t.data<float>()[i] = gain * (4 * uniform(seed_, 5, static_cast<std::uint64_t>(i)) - 2);
    ++seed_;
    if (spec_.type == WType::f32 || shape.back() % quant::info(spec_.type).block_elems != 0) writer_.add(name, t);
    else writer_.add(name, quant::info(spec_.type).encoder ? quantize(t, spec_.type) : random_weights(spec_.type, shape, seed_));
  }
  void vector(const std::string& name, std::int64_t n, float base = 1.0f) {
    Tensor t = Tensor::empty({n});
    for (std::int64_t i = 0; i < n; ++i) t.data<float>()[i] = base + 0.5f * (uniform(seed_, 6, static_cast<std::uint64_t>(i)) - 0.5f);
    ++seed_;
    writer_.add(name, t);
  }
  void layer(const std::string& p) {
    const TinySpec& s = spec_;
    const std::int64_t q = s.heads * s.head_dim, k = s.kv_heads * s.head_dim;
    vector(p + "attn_norm.weight", s.hidden);
    vector(p + "ffn_norm.weight", s.hidden);
    if (s.post_norm) {
      vector(p + "post_attention_norm.weight", s.hidden);
      vector(p + "post_ffw_norm.weight", s.hidden);
    }
    if (s.qk_norm) {
      vector(p + "attn_q_norm.weight", s.head_dim);
      vector(p + "attn_k_norm.weight", s.head_dim);
    }
    matrix(p + "attn_q.weight", {q, s.hidden});
    matrix(p + "attn_k.weight", {k, s.hidden});
    matrix(p + "attn_v.weight", {k, s.hidden});
    matrix(p + "attn_output.weight", {s.hidden, q});
    if (s.biases) {
      vector(p + "attn_q.bias", q, 0);
      vector(p + "attn_k.bias", k, 0);
      vector(p + "attn_v.bias", k, 0);
    }
    if (s.experts > 0) {
      matrix(p + "ffn_gate_inp.weight", {s.experts, s.hidden});
      matrix(p + "ffn_gate_exps.weight", {s.experts, s.ff, s.hidden});
      matrix(p + "ffn_up_exps.weight", {s.experts, s.ff, s.hidden});
      matrix(p + "ffn_down_exps.weight", {s.experts, s.hidden, s.ff});
    } else {
      matrix(p + "ffn_gate.weight", {s.ff, s.hidden});
      matrix(p + "ffn_up.weight", {s.ff, s.hidden});
      matrix(p + "ffn_down.weight", {s.hidden, s.ff});
    }
  }

  TinySpec spec_;
  io::GgufWriter writer_;
  std::uint64_t seed_ = 100;
};

}  // namespace hz::test
