// SPDX-License-Identifier: Apache-2.0
// Hyper-parameters: every number in a closed range, then the relations between them.
#include "hanzo/model/hparams.hpp"

#include <fmt/format.h>

#include <cmath>

namespace hz::model {
namespace {

class Reader {
 public:
  Reader(const Arch& arch, const io::Metadata& meta) : prefix_(std::string(arch.name) + "."), meta_(meta) {}

  std::int64_t integer(std::string_view key, std::int64_t low, std::int64_t high) const {
    return check(key, meta_.require<std::int64_t>(prefix_ + std::string(key)), low, high);
  }
  std::int64_t integer_or(std::string_view key, std::int64_t fallback, std::int64_t low, std::int64_t high) const {
    return check(key, meta_.get_or<std::int64_t>(prefix_ + std::string(key), fallback), low, high);
  }
  // A number, or an array of one per layer that must all be equal here.
  std::int64_t per_layer(std::string_view key, std::int64_t layers, std::int64_t low, std::int64_t high) const {
    const std::string full = prefix_ + std::string(key);
    const io::Value* v = meta_.find(full);
    if (v == nullptr || v->type() != io::ValueType::array) return integer(key, low, high);
    const auto values = *meta_.get_array<std::int64_t>(full);
    if (static_cast<std::int64_t>(values.size()) != layers)
      fail(key, "has " + std::to_string(values.size()) + " values for " + std::to_string(layers) + " layers");
    for (const std::int64_t x : values)
      if (x != values[0]) fail(key, "differs between layers, which this architecture does not have");
    return check(key, values.empty() ? 0 : values[0], low, high);
  }
  bool has(std::string_view key) const { return meta_.contains(prefix_ + std::string(key)); }
  float real(std::string_view key, float low, float high) const {
    return check(key, meta_.require<float>(prefix_ + std::string(key)), low, high);
  }
  float real_or(std::string_view key, float fallback, float low, float high) const {
    return check(key, meta_.get_or<float>(prefix_ + std::string(key), fallback), low, high);
  }
  std::string text_or(std::string_view key, std::string fallback) const {
    return meta_.get_or<std::string>(prefix_ + std::string(key), std::move(fallback));
  }
  std::vector<bool> flags(std::string_view key, std::int64_t layers) const {
    auto v = *meta_.get_array<bool>(prefix_ + std::string(key));
    if (static_cast<std::int64_t>(v.size()) != layers)
      fail(key, "has " + std::to_string(v.size()) + " values for " + std::to_string(layers) + " layers");
    return v;
  }
  [[noreturn]] void fail(std::string_view key, const std::string& what) const {
    throw Error(ErrorKind::bad_file, prefix_ + std::string(key) + " " + what, meta_.source(),
                "the file's metadata is damaged: convert or download it again");
  }

 private:
  template <class T>
  T check(std::string_view key, T value, T low, T high) const {
    if (!(value >= low && value <= high))
      fail(key, fmt::format("is {}, must be from {} to {}", value, low, high));
    return value;
  }
  std::string prefix_;
  const io::Metadata& meta_;
};

void read_attention(const Arch& arch, const Reader& r, HParams& h) {
  h.heads = static_cast<int>(r.per_layer("attention.head_count", h.layers, 1, 4096));
  h.kv_heads = r.has("attention.head_count_kv") ? static_cast<int>(r.per_layer("attention.head_count_kv", h.layers, 1, 4096)) : h.heads;
  if (h.heads % h.kv_heads != 0)
    r.fail("attention.head_count_kv",
           "is " + std::to_string(h.kv_heads) + ", which does not divide the " + std::to_string(h.heads) + " heads");
  if (!r.has("attention.key_length") && h.hidden % h.heads != 0)
    r.fail("attention.head_count",
           "is " + std::to_string(h.heads) + ", which does not divide the embedding length " + std::to_string(h.hidden));
  h.head_dim = static_cast<int>(r.integer_or("attention.key_length", h.hidden / h.heads, 1, 1024));
  h.value_dim = static_cast<int>(r.integer_or("attention.value_length", h.head_dim, 1, 1024));
  h.attention_scale = r.real_or("attention.scale", 1.0f / std::sqrt(static_cast<float>(h.head_dim)), 1e-6f, 1e6f);
  h.attention_softcap = r.real_or("attn_logit_softcapping", arch.attention.softcap, 0.0f, 1e6f);
  h.final_softcap = r.real_or("final_logit_softcapping", arch.final_softcap, 0.0f, 1e6f);
  h.sliding.assign(static_cast<std::size_t>(h.layers), false);
  if (arch.attention.window_period > 0) {
    h.window = r.integer_or("attention.sliding_window", arch.attention.window, 0, std::int64_t{1} << 31);
    for (std::int64_t i = 0; h.window > 0 && i < h.layers; ++i)
      h.sliding[static_cast<std::size_t>(i)] = i % arch.attention.window_period != arch.attention.window_full_at;
    if (h.window > 0 && r.has("attention.sliding_window_pattern")) h.sliding = r.flags("attention.sliding_window_pattern", h.layers);
  }
}

void read_rope(const Arch& arch, const Reader& r, HParams& h) {
  if (arch.attention.rope == Rope::none) return;
  h.rope_dim = static_cast<int>(r.integer_or("rope.dimension_count", h.head_dim, 2, h.head_dim));
  if (h.rope_dim % 2 != 0) r.fail("rope.dimension_count", "is " + std::to_string(h.rope_dim) + ", must be even");
  h.rope_base = r.real_or("rope.freq_base", 10000.0f, 1.0f, 1e12f);
  const float local = arch.attention.window_rope_base > 0 ? arch.attention.window_rope_base : h.rope_base;
  h.window_rope_base = r.real_or("rope.freq_base_swa", local, 1.0f, 1e12f);
  const std::string kind = r.text_or("rope.scaling.type", r.has("rope.scale_linear") ? "linear" : "none");
  if (kind == "linear")
    h.rope_scaling.factor = r.real_or(r.has("rope.scaling.factor") ? "rope.scaling.factor" : "rope.scale_linear", 1.0f, 1e-3f, 1e6f);
  else if (kind != "none") throw Error(ErrorKind::unsupported, std::string(arch.name) + ".rope.scaling.type '" + kind + "' is not built");
  else if (r.has("rope.scaling.factor")) (void)r.real("rope.scaling.factor", 1e-3f, 1e6f);
  if (arch.attention.window_rope_scaled) h.window_rope_scaling = h.rope_scaling;
}

}  // namespace

HParams read_hparams(const Arch& arch, const io::Metadata& meta) {
  const Reader r(arch, meta);
  HParams h;
  if (const auto* name = meta.find("general.name"); name != nullptr && name->type() == io::ValueType::string)
    h.name = *meta.get<std::string>("general.name");
  h.layers = r.integer("block_count", 1, 10000);
  h.hidden = r.integer("embedding_length", 1, 1 << 20);
  h.context = r.integer_or("context_length", 4096, 1, INT32_MAX);
  h.ff = r.per_layer("feed_forward_length", h.layers, 1, 1 << 24);
  h.vocab = r.integer_or("vocab_size", 0, 0, 1 << 24);
  h.norm_eps = r.real(arch.norm.kind == Norm::rms ? "attention.layer_norm_rms_epsilon" : "attention.layer_norm_epsilon", 0.0f, 1.0f);
  if (!(h.norm_eps > 0)) r.fail("attention.layer_norm_rms_epsilon", "must be positive");
  read_attention(arch, r, h);
  read_rope(arch, r, h);
  if (r.has("expert_count")) {
    if (!arch.experts.allowed) throw Error(ErrorKind::unsupported, std::string(arch.name) + " with experts is not built");
    h.experts = static_cast<int>(r.integer("expert_count", 0, 65536));
    if (h.experts > 0) h.experts_used = static_cast<int>(r.integer("expert_used_count", 1, h.experts));
    h.expert_ff = r.integer_or("expert_feed_forward_length", h.ff, 1, 1 << 24);
  }
  if (arch.embed_scale == EmbedScale::sqrt_hidden) h.embed_scale = std::sqrt(static_cast<float>(h.hidden));
  return h;
}

}  // namespace hz::model
