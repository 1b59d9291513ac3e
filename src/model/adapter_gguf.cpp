// SPDX-License-Identifier: Apache-2.0
// GGUF LoRA files: general.type "adapter", adapter.type "lora", adapter.lora.alpha; tensors NAME.weight.lora_a [rank, in]
// and .lora_b [out, rank]. Scale: alpha / rank, or 1 where alpha is 0. Ours also have hanzo_base_sha256, the base they belong to.
#include <cmath>

#include "hanzo/io/gguf.hpp"
#include "src/model/adapter_body.hpp"

namespace hz::model {
namespace {

struct Pair {
  const io::GgufTensor *a = nullptr, *b = nullptr;
};

std::string text_key(const io::Metadata& meta, const std::string& key, const std::string& where) {
  const io::Value* v = meta.find(key);
  if (v == nullptr) throw Error(ErrorKind::bad_file, key + " is missing", where, "a GGUF LoRA has it: this file is something else");
  if (v->type() != io::ValueType::string) throw Error(ErrorKind::bad_file, key + " is no string", where);
  return *meta.get<std::string>(key);
}

std::string optional_text(const io::Metadata& meta, const std::string& key, const std::string& where) {
  return meta.find(key) == nullptr ? std::string() : text_key(meta, key, where);
}

float read_alpha(const io::Metadata& meta, const std::string& where) {
  const io::Value* v = meta.find("adapter.lora.alpha");
  if (v == nullptr) throw Error(ErrorKind::bad_file, "adapter.lora.alpha is missing", where);
  if (v->type() != io::ValueType::f32)
    throw Error(ErrorKind::bad_file, "adapter.lora.alpha is " + std::string(io::name_of(v->type())) + ", must be f32", where);
  const float alpha = *meta.get<float>("adapter.lora.alpha");
  if (!std::isfinite(alpha)) throw Error(ErrorKind::bad_file, "adapter.lora.alpha is not finite", where);
  return alpha;
}

void check_keys(const io::Metadata& meta, const Model& model, const std::string& where) {
  const auto wants = [&](const std::string& key, std::string_view value) {
    const std::string found = text_key(meta, key, where);
    if (found != value) throw Error(ErrorKind::bad_file, key + " is '" + found + "', must be '" + std::string(value) + "'", where);
  };
  wants("general.type", "adapter");
  wants("adapter.type", "lora");
  wants("general.architecture", model.arch().name);
}

std::map<std::string, Pair> find_pairs(const io::Gguf& file, const std::string& where) {
  std::map<std::string, Pair> pairs;
  for (const io::GgufTensor& t : file.tensors()) {
    const bool is_a = t.name.ends_with(".weight.lora_a"), is_b = t.name.ends_with(".weight.lora_b");
    if (!is_a && !is_b)
      throw Error(ErrorKind::bad_file, "tensor " + t.name + " is no part of a LoRA: names end in .weight.lora_a or .weight.lora_b", where);
    if (!t.is_weight())
      throw Error(ErrorKind::bad_file, t.name + " has type " + std::string(t.type_name()) + ", which is no weight type", where);
    Pair& p = pairs[t.name.substr(0, t.name.size() - std::string_view(".weight.lora_a").size())];
    (is_a ? p.a : p.b) = &t;
  }
  if (pairs.empty()) throw Error(ErrorKind::bad_file, "the adapter has no tensors", where);
  return pairs;
}

Tensor read_factor(const io::Gguf& file, const io::GgufTensor& t, const std::string& where) {
  if (t.shape.rank() != 2) throw Error(ErrorKind::bad_file, t.name + " is " + to_string(t.shape) + ", a factor has two dimensions", where);
  for (const std::int64_t d : t.shape)
    if (d < 1) throw Error(ErrorKind::bad_file, t.name + " is " + to_string(t.shape) + ": rank or width 0", where);
  return file.tensor(t.name).decode();
}

}  // namespace

Adapter load_gguf_lora(const std::filesystem::path& path, const Model& model, bool force) {
  const io::Gguf file = io::Gguf::open_part(path, model.options().read_mode);
  const std::string where = path.string();
  check_keys(file.metadata(), model, where);
  const float alpha = read_alpha(file.metadata(), where);
  auto body = std::make_shared<Adapter::Body>(body_for(model, false));
  body->name = path.stem().string();
  body->base_sha256 = optional_text(file.metadata(), "hanzo_base_sha256", where);
  body->forced = check_base(body->base_sha256, model, force, where) || file.metadata().get<bool>("hanzo_forced").value_or(false);
  const auto linears = linears_of(model);
  for (const auto& [module, pair] : find_pairs(file, where)) {
    if (pair.a == nullptr || pair.b == nullptr)
      throw Error(ErrorKind::bad_file, module + " has lora_" + (pair.a ? "a" : "b") + " without lora_" + (pair.a ? "b" : "a"), where);
    if (!linears.contains(module) && model.file().find(module + ".weight") != nullptr && pair.a->shape.rank() == 2)
      throw Error(ErrorKind::unsupported, "adapters of " + module + " are not built", where, "layers of blocks and the head can have one");
    const Tensor a = read_factor(file, *pair.a, where), b = read_factor(file, *pair.b, where);
    check_target(module, a, b, {}, linears, where);
    const float own = alpha != 0 ? alpha : static_cast<float>(a.rows());
    body->targets.push_back(make_target(module, a, b, {}, nn::AdapterMethod::lora, own, 0));
  }
  return Adapter(std::move(body));
}

}  // namespace hz::model
