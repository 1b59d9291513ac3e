// SPDX-License-Identifier: Apache-2.0
// Binding tensors by name.
#include "hanzo/model/weights.hpp"

#include <algorithm>
#include <atomic>
#include <set>

#include "hanzo/core/parallel.hpp"
#include "hanzo/io/sha256.hpp"

namespace hz::model {
namespace {

class Binder {
 public:
  Binder(const io::Gguf& file) : file_(file) {}

  bool has(const std::string& name) const { return file_.find(name) != nullptr; }

  QTensor matrix(const std::string& name, std::int64_t rows, std::int64_t cols) { return bind(name, Shape{rows, cols}); }
  QTensor experts(const std::string& name, std::int64_t count, std::int64_t rows, std::int64_t cols) {
    return bind(name, Shape{count, rows, cols});
  }
  // A vector of n values, decoded to F32. Only float types: a quantized norm or bias is refused by name.
  Tensor vector(const std::string& name, std::int64_t n) {
    const io::GgufTensor& t = require(name);
    Shape shape = t.shape;
    while (shape.rank() > 1 && shape[0] == 1) shape = drop_first(shape);
    if (!(shape == Shape{n})) wrong(t, Shape{n});
    if (!quant::info(t.type).floating)
      throw Error(ErrorKind::bad_file, name + " has type " + std::string(name_of(t.type)) + ", a vector must be F32, F16 or BF16", where());
    used_.insert(name);
    return file_.tensor(name).decode().reshape(Shape{n});
  }
  Tensor vector_if(const std::string& name, std::int64_t n) { return has(name) ? vector(name, n) : Tensor(); }
  NormWeights norm(const std::string& name, std::int64_t n) { return {vector(name + ".weight", n), vector_if(name + ".bias", n)}; }
  nn::Linear linear(const std::string& name, std::int64_t out, std::int64_t in) {
    nn::Linear l;
    l.weight = matrix(name + ".weight", out, in);
    l.bias = vector_if(name + ".bias", out);
    return l;
  }
  std::vector<std::string> unused() const {
    std::vector<std::string> names;
    for (const io::GgufTensor& t : file_.tensors())
      if (!used_.contains(t.name)) names.push_back(t.name);
    return names;
  }
  std::string where() const { return file_.files()[0].string(); }

 private:
  QTensor bind(const std::string& name, const Shape& wanted) {
    const io::GgufTensor& t = require(name);
    Shape shape = t.shape;
    while (shape.rank() > wanted.rank() && shape[0] == 1) shape = drop_first(shape);
    if (!(shape == wanted)) wrong(t, wanted);
    if (!quant::info(t.type).weight)
      throw Error(ErrorKind::bad_file, name + " has type " + std::string(name_of(t.type)) + ", which is no weight type", where());
    used_.insert(name);
    return file_.tensor(name).with_shape(shape);
  }

  static Shape drop_first(const Shape& s) {
    Shape r;
    for (int i = 1; i < s.rank(); ++i) r.push_back(s[i]);
    return r;
  }
  const io::GgufTensor& require(const std::string& name) const {
    const io::GgufTensor* t = file_.find(name);
    if (t == nullptr)
      throw Error(ErrorKind::bad_file, "tensor " + name + " is missing", where(), "the file is incomplete or of another architecture");
    if (!quant::from_id(static_cast<std::uint32_t>(t->type)))
      throw Error(ErrorKind::bad_file,
                  name + " has GGUF type " + std::to_string(static_cast<std::uint32_t>(t->type)) + ", which is no weight format", where());
    return *t;
  }
  [[noreturn]] void wrong(const io::GgufTensor& t, const Shape& expected) const {
    throw Error(ErrorKind::bad_file, t.name + " is " + to_string(t.shape) + ", the metadata needs " + to_string(expected), where());
  }
  const io::Gguf& file_;
  std::set<std::string> used_;
};

LayerWeights bind_layer(const Arch& arch, const HParams& h, Binder& b, std::int64_t i) {
  const std::string p = "blk." + std::to_string(i) + ".";
  LayerWeights w;
  const std::int64_t q_out = static_cast<std::int64_t>(h.heads) * h.head_dim, k_out = static_cast<std::int64_t>(h.kv_heads) * h.head_dim;
  const std::int64_t v_out = static_cast<std::int64_t>(h.kv_heads) * h.value_dim;
  if (arch.norm.place != NormPlace::post) {
    w.attn_norm = b.norm(p + "attn_norm", h.hidden);
    w.ffn_norm = b.norm(p + "ffn_norm", h.hidden);
  }
  if (arch.norm.place != NormPlace::pre) {
    w.attn_post_norm = b.norm(p + "post_attention_norm", h.hidden);
    w.ffn_post_norm = b.norm(p + "post_ffw_norm", h.hidden);
  }
  w.q = b.linear(p + "attn_q", q_out, h.hidden);
  w.k = b.linear(p + "attn_k", k_out, h.hidden);
  w.v = b.linear(p + "attn_v", v_out, h.hidden);
  w.output = b.linear(p + "attn_output", h.hidden, static_cast<std::int64_t>(h.heads) * h.value_dim);
  if (arch.attention.qk_norm != QkNorm::none) {
    const bool per_head = arch.attention.qk_norm == QkNorm::per_head;
    w.q_norm = b.norm(p + "attn_q_norm", per_head ? h.head_dim : q_out);
    w.k_norm = b.norm(p + "attn_k_norm", per_head ? h.head_dim : k_out);
  }
  if (h.experts > 0) {
    w.router = b.linear(p + "ffn_gate_inp", h.experts, h.hidden);
    w.gate_experts = b.experts(p + "ffn_gate_exps.weight", h.experts, h.expert_ff, h.hidden);
    w.up_experts = b.experts(p + "ffn_up_exps.weight", h.experts, h.expert_ff, h.hidden);
    w.down_experts = b.experts(p + "ffn_down_exps.weight", h.experts, h.hidden, h.expert_ff);
    return w;
  }
  if (arch.mlp.kind == Mlp::swiglu || arch.mlp.kind == Mlp::geglu_tanh) w.gate = b.linear(p + "ffn_gate", h.ff, h.hidden);
  w.up = b.linear(p + "ffn_up", h.ff, h.hidden);
  w.down = b.linear(p + "ffn_down", h.hidden, h.ff);
  return w;
}

}  // namespace

Weights bind_weights(const Arch& arch, HParams& h, const io::Gguf& file) {
  Binder b(file);
  Weights w;
  const io::GgufTensor* table = file.find("token_embd.weight");
  if (table != nullptr && table->shape.rank() >= 2 && h.vocab == 0) h.vocab = table->shape[-2];
  w.embedding = b.matrix("token_embd.weight", h.vocab, h.hidden);
  w.output_norm = b.norm("output_norm", h.hidden);
  if (b.has("output.weight")) w.head = b.linear("output", h.vocab, h.hidden);
  else {
    w.head.weight = w.embedding;
    w.tied = true;
  }
  w.rope_divisors = b.vector_if("rope_freqs.weight", h.rope_dim / 2);
  if (w.rope_divisors.defined())
    for (const float f : w.rope_divisors.span<float>())
      if (!(f > 0 && f < 1e9f))
        throw Error(ErrorKind::bad_file, "rope_freqs.weight holds " + std::to_string(f) + ", must be positive", b.where());
  for (std::int64_t i = 0; i < h.layers; ++i) w.layers.push_back(bind_layer(arch, h, b, i));
  w.unused = b.unused();
  return w;
}

namespace {
template <class W, class F>
void visit_linears(W& weights, const F& f) {
  for (std::size_t i = 0; i < weights.layers.size(); ++i) {
    auto& w = weights.layers[i];
    const std::string p = "blk." + std::to_string(i) + ".";
    const auto visit = [&](const char* name, auto& layer) {
      if (layer.defined()) f(p + name, layer);
    };
    visit("attn_q", w.q);
    visit("attn_k", w.k);
    visit("attn_v", w.v);
    visit("attn_output", w.output);
    visit("ffn_gate", w.gate);
    visit("ffn_up", w.up);
    visit("ffn_down", w.down);
    visit("ffn_gate_inp", w.router);
  }
  if (!weights.tied) f("output", weights.head);
}
}  // namespace

void for_each_linear(Weights& weights, const std::function<void(const std::string&, nn::Linear&)>& f) { visit_linears(weights, f); }
void for_each_linear(const Weights& weights, const std::function<void(const std::string&, const nn::Linear&)>& f) {
  visit_linears(weights, f);
}

void move_vectors(Weights& weights, Device device) {
  const auto move = [device](Tensor& t) {
    if (t.defined()) t = t.to(device);
  };
  const auto move_norm = [&](NormWeights& n) {
    move(n.weight);
    move(n.bias);
  };
  move_norm(weights.output_norm);
  move(weights.head.bias);
  for (LayerWeights& w : weights.layers)
    for (NormWeights* n : {&w.attn_norm, &w.attn_post_norm, &w.ffn_norm, &w.ffn_post_norm, &w.q_norm, &w.k_norm}) move_norm(*n);
  for_each_linear(weights, [&](const std::string&, nn::Linear& l) { move(l.bias); });
}

std::string tensors_sha256(const io::Gguf& file) {
  std::vector<const io::GgufTensor*> sorted;
  for (const io::GgufTensor& t : file.tensors()) sorted.push_back(&t);
  std::sort(sorted.begin(), sorted.end(), [](const auto* a, const auto* b) { return a->name < b->name; });
  io::Sha256 hash;
  const auto number = [&](std::uint64_t v, int bytes) {
    std::byte le[8];
    for (int i = 0; i < bytes; ++i) le[i] = static_cast<std::byte>(v >> (8 * i));
    hash.update({le, static_cast<std::size_t>(bytes)});
  };
  for (const io::GgufTensor* t : sorted) {
    hash.update(t->name);
    number(0, 1);
    number(static_cast<std::uint32_t>(t->type), 4);
    number(static_cast<std::uint64_t>(t->shape.rank()), 4);
    for (const std::int64_t d : t->shape) number(static_cast<std::uint64_t>(d), 8);
    // In pieces, each of which a StopScope may be the last.
    constexpr std::size_t kPiece = std::size_t{16} << 20;
    const std::span<const std::byte> all = file.bytes(t->name);
    parallel_for(1, static_cast<std::int64_t>((all.size() + kPiece - 1) / kPiece), 1, [&](std::int64_t begin, std::int64_t) {
      const std::size_t at = static_cast<std::size_t>(begin) * kPiece;
      hash.update(all.subspan(at, std::min(kPiece, all.size() - at)));
    });
  }
  return hash.hex();
}

void check_finite(const io::Gguf& file, int threads, const Progress& progress) {
  constexpr std::int64_t kRows = 64;
  std::uint64_t done = 0;
  for (const io::GgufTensor& t : file.tensors()) {
    progress.check("checking weights");
    if (!quant::from_id(static_cast<std::uint32_t>(t.type))) continue;  // not a weight: nothing binds it
    const QTensor q = file.tensor(t.name);
    std::atomic<std::int64_t> bad{INT64_MAX};
    parallel_for(q.nbytes() < 65536 ? 1 : threads, q.rows(), kRows, [&](std::int64_t begin, std::int64_t end) {
      const std::int64_t row = q.first_bad_row(begin, end);
      for (std::int64_t seen = bad; row >= 0 && row < seen && !bad.compare_exchange_weak(seen, row);) {}
    });
    if (bad != INT64_MAX)
      throw Error(
          ErrorKind::bad_file,
          t.name + " row " + std::to_string(bad) + " holds a NaN or infinite " + (quant::info(t.type).floating ? "weight" : "block scale"),
          file.files()[t.file].string(), "the file is damaged: convert or download it again");
    done += t.nbytes;
    progress("checking weights", done, file.total_bytes());
  }
}

}  // namespace hz::model
