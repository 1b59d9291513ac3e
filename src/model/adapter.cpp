// SPDX-License-Identifier: Apache-2.0
// Adapters: creation, and the checks that loading shares.
#include "hanzo/model/adapter.hpp"
#include "src/io/input_file.hpp"

#include <algorithm>
#include <cmath>

#include "src/model/adapter_body.hpp"
#include "src/model/metadata_hash.hpp"

namespace hz {
namespace model {
namespace {

// FNV-1a, 64 bits: a stream of random numbers for each layer, whatever other layers there are.
std::uint64_t stream_of(std::string_view text) {
  std::uint64_t h = 0xcbf29ce484222325ull;
  for (const char c : text) h = (h ^ static_cast<std::uint8_t>(c)) * 0x100000001b3ull;
  return h;
}

bool all_finite(const Tensor& t) {
  for (const float f : t.span<float>())
    if (!std::isfinite(f)) return false;
  return true;
}

}  // namespace

// Of the keys tokenizer.* in byte order: length (u64) and key, then type and value.
std::string tokenizer_sha256(const io::Metadata& metadata) {
  std::map<std::string_view, const io::Value*> sorted;
  for (const auto& [key, value] : metadata.entries())
    if (key.starts_with("tokenizer.")) sorted[key] = &value;
  io::Sha256 hash;
  for (const auto& [key, value] : sorted) {
    hash_text(hash, key);
    hash_value(hash, *value);
  }
  return hash.hex();
}

std::map<std::string, const nn::Linear*, std::less<>> linears_of(const Model& model) {
  std::map<std::string, const nn::Linear*, std::less<>> map;
  for_each_linear(model.weights(), [&](const std::string& name, const nn::Linear& l) { map[name] = &l; });
  return map;
}

Adapter::Body body_for(const Model& model, bool hash) {
  Adapter::Body b;
  b.base_name = model.hparams().name;
  if (hash) b.base_sha256 = model.base_sha256();
  b.tokenizer_sha256 = tokenizer_sha256(model.file().metadata());
  if (model.arch().attention.rope == Rope::adjacent) {
    b.q_heads = model.hparams().heads;
    b.k_heads = model.hparams().kv_heads;
  }
  return b;
}

float lora_scale(nn::AdapterMethod method, float alpha, std::int64_t rank) {
  const auto r = static_cast<double>(rank);
  return static_cast<float>(static_cast<double>(alpha) / (method == nn::AdapterMethod::rslora ? std::sqrt(r) : r));
}

Adapter::Target make_target(const std::string& module, const Tensor& a, const Tensor& b, const Tensor& magnitude, nn::AdapterMethod method,
                            float alpha, float dropout) {
  Adapter::Target t;
  t.module = module;
  t.alpha = alpha;
  t.lora.a = Var(a, module + ".lora_a");
  t.lora.b = Var(b, module + ".lora_b");
  if (magnitude.defined()) t.lora.magnitude = Var(magnitude, module + ".magnitude");
  t.lora.scale = lora_scale(method, alpha, a.rows());
  t.lora.dropout = dropout;
  t.lora.stream = stream_of(module);
  return t;
}

void check_target(const std::string& module, const Tensor& a, const Tensor& b, const Tensor& magnitude,
                  const std::map<std::string, const nn::Linear*, std::less<>>& linears, const std::string& where) {
  const auto it = linears.find(module);
  if (it == linears.end()) throw Error(ErrorKind::bad_file, "the adapter is for " + module + ", which the model does not have", where);
  const nn::Linear& l = *it->second;
  const auto wrong = [&](const char* part, const Tensor& t, const Shape& expected) {
    throw Error(ErrorKind::bad_file, module + " " + part + " is " + to_string(t.shape()) + ", the layer needs " + to_string(expected),
                where, "the adapter is for another model");
  };
  if (a.rank() != 2 || a.cols() != l.in()) wrong("lora_a", a, {a.rank() > 0 ? a.size(0) : 0, l.in()});
  if (a.rows() < 1) throw Error(ErrorKind::bad_file, module + " has rank 0", where);
  if (b.rank() != 2 || b.rows() != l.out() || b.cols() != a.rows()) wrong("lora_b", b, {l.out(), a.rows()});
  if (magnitude.defined() && magnitude.numel() != l.out()) wrong("magnitude", magnitude, {l.out()});
  for (const Tensor* t : {&a, &b, &magnitude})
    if (t->defined() && !all_finite(*t))
      throw Error(ErrorKind::bad_file, module + " holds NaN or infinite values", where,
                  "the adapter is damaged: train or download it again");
}

bool check_base(const std::string& recorded, const Model& model, bool force, const std::string& where) {
  if (recorded.empty() || recorded == model.base_sha256()) return false;
  if (!force)
    throw Error(ErrorKind::bad_file,
                "the adapter was trained on another base: its hanzo_base_sha256 is " + recorded.substr(0, 16) + "..., the model's " +
                    model.base_sha256().substr(0, 16) + "...",
                where, "use the base it was trained on, or --force to use this one all the same");
  return true;
}

Tensor permute_rows(const Tensor& t, int heads, bool to_adjacent) {
  Tensor y = Tensor::empty(t.shape());
  const std::int64_t dim = t.rows() / heads, half = dim / 2, n = t.cols();
  for (std::int64_t h = 0; h < heads; ++h)
    for (std::int64_t i = 0; i < half; ++i)
      for (std::int64_t s = 0; s < 2; ++s) {
        const std::int64_t apart = h * dim + s * half + i, adjacent = h * dim + 2 * i + s;
        std::copy_n(t.data<float>() + (to_adjacent ? apart : adjacent) * n, n, y.data<float>() + (to_adjacent ? adjacent : apart) * n);
      }
  return y;
}

}  // namespace model

namespace {

template <class T>
T pattern_value(const std::map<std::string, T>& patterns, const std::string& module, T fallback) {
  for (const auto& [pattern, value] : patterns)
    if (model::pattern_selects(pattern, module)) return value;
  return fallback;
}

// A pattern that selects nothing is a mistake, not a wish.
template <class T>
void check_patterns(const std::map<std::string, T>& patterns, const char* what, const std::vector<std::string>& modules) {
  for (const auto& [pattern, value] : patterns)
    if (std::none_of(modules.begin(), modules.end(), [&, &p = pattern](const std::string& m) { return model::pattern_selects(p, m); }))
      throw Error(ErrorKind::usage, std::string("the ") + what + " pattern '" + pattern + "' selects none of the adapter's layers", "",
                  "names such as attn_q, q_proj, blk.0.ffn_down, or re:REGEX");
}

Adapter::Target fresh_target(const std::string& module, const nn::Linear& layer, const nn::LoraOptions& o, Seed seed, Device device) {
  const int rank = pattern_value(o.rank_pattern, module, o.rank);
  const float alpha = pattern_value(o.alpha_pattern, module, o.alpha);
  if (rank < 1 || rank > 65536)
    throw Error(ErrorKind::usage, "an adapter of rank " + std::to_string(rank) + " for " + module, "", "a rank from 1 to 65536");
  if (!std::isfinite(alpha)) throw Error(ErrorKind::usage, "an alpha that is not finite for " + module);
  Tensor a = Tensor::empty({rank, layer.in()}, DType::f32, device);
  const float bound = 1.0f / std::sqrt(static_cast<float>(layer.in()));
  Adapter::Target t = model::make_target(module, a, Tensor::zeros({layer.out(), rank}, DType::f32, device), {}, o.method, alpha, o.dropout);
  for (std::int64_t i = 0; i < a.numel(); ++i)
    a.data<float>()[i] = bound * (2 * uniform(seed.value, t.lora.stream, static_cast<std::uint64_t>(i)) - 1);
  if (o.method == nn::AdapterMethod::dora)
    t.lora.magnitude = Var(nn::row_norms(layer.weight, layer.dense, t.lora.a, t.lora.b, t.lora.scale).to(device), module + ".magnitude");
  return t;
}

}  // namespace

Adapter Adapter::create(const Model& model, const nn::LoraOptions& options, Seed seed) {
  if (!(options.dropout >= 0 && options.dropout < 1))
    throw Error(ErrorKind::usage, "a dropout of " + std::to_string(options.dropout) + " is outside [0, 1)");
  auto body = std::make_shared<Body>(model::body_for(model, true));
  body->name = options.name;
  body->method = options.method;
  body->dropout = options.dropout;
  const auto linears = model::linears_of(model);
  std::vector<std::string> names;  // in the model's order
  model::for_each_linear(model.weights(), [&](const std::string& name, const nn::Linear&) { names.push_back(name); });
  const std::vector<std::string> selected = model::select_modules(names, options.targets);
  check_patterns(options.rank_pattern, "rank", selected);
  check_patterns(options.alpha_pattern, "alpha", selected);
  for (const std::string& module : selected)
    body->targets.push_back(fresh_target(module, *linears.at(module), options, seed, model.backend().device()));
  return Adapter(std::move(body));
}

Adapter Adapter::load(const std::filesystem::path& path, const Model& model, bool force) {
  return io::is_folder(path) ? model::load_peft(path, model, force) : model::load_gguf_lora(path, model, force);
}

const std::string& Adapter::name() const { return body_->name; }
nn::AdapterMethod Adapter::method() const { return body_->method; }
const std::vector<Adapter::Target>& Adapter::targets() const { return body_->targets; }
const std::string& Adapter::base_sha256() const { return body_->base_sha256; }
const std::string& Adapter::tokenizer_sha256() const { return body_->tokenizer_sha256; }
bool Adapter::forced() const { return body_->forced; }

std::vector<Var> Adapter::parameters() const {
  std::vector<Var> all;
  for (const Target& t : body_->targets) {
    all.push_back(t.lora.a);
    all.push_back(t.lora.b);
    if (t.lora.magnitude.defined()) all.push_back(t.lora.magnitude);
  }
  return all;
}

namespace nn {
Adapter attach_lora(Model& model, const LoraOptions& options, Seed seed) {
  Adapter adapter = Adapter::create(model, options, seed);
  model = model.with_adapter(adapter);
  return adapter;
}
}  // namespace nn

}  // namespace hz
