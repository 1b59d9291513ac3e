// SPDX-License-Identifier: Apache-2.0
// Adapter folders in PEFT's layout: adapter_config.json and adapter_model.safetensors. Ours have hanzo_* keys more.
// Hugging Face keeps the rows of q and k with the halves of a head apart; a GGUF of an architecture with adjacent rope pairs
// has them interleaved, and so have our adapters in memory: the rows are reordered on the way in and out.
#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "hanzo/io/atomic_file.hpp"
#include "hanzo/io/atomic_folder.hpp"
#include "hanzo/io/safetensors.hpp"
#include "src/io/input_file.hpp"
#include "src/io/temporary_folder.hpp"
#include "src/model/adapter_body.hpp"

namespace hz {
namespace model {
namespace {

using Json = nlohmann::json;
constexpr std::uint64_t kMostConfig = std::uint64_t{1} << 20;  // bytes
constexpr std::string_view kPrefix = "base_model.model.";
constexpr std::string_view kWeightsFile = "adapter_model.safetensors", kConfigFile = "adapter_config.json";

// A typed look at the configuration; messages name the file and the key.
class Config {
 public:
  explicit Config(const std::filesystem::path& file) : where_(file.string()) {
    if (!io::is_there(file))
      throw Error(ErrorKind::io, "is not there", where_, "a PEFT folder has adapter_config.json and adapter_model.safetensors");
    json_ = Json::parse(io::InputFile(file).text(kMostConfig), nullptr, false);
    if (!json_.is_object()) throw Error(ErrorKind::bad_file, "is no JSON object", where_);
  }
  const std::string& where() const { return where_; }
  bool flag(const char* key) const { return value<bool>(key, false, &Json::is_boolean, "true or false"); }
  std::string text(const char* key) const { return value<std::string>(key, "", &Json::is_string, "a string"); }
  double number(const char* key, double fallback) const { return value<double>(key, fallback, &Json::is_number, "a number"); }
  bool has(const char* key) const { return json_.contains(key) && !json_[key].is_null(); }
  bool empty_list(const char* key) const { return !has(key) || ((json_[key].is_array() || json_[key].is_object()) && json_[key].empty()); }
  // A pattern's value for a module: keys are ends of Hugging Face names, or expressions for them.
  double pattern(const char* key, const std::string& hf_name, double fallback) const {
    if (!has(key)) return fallback;
    if (!json_[key].is_object()) wrong(key, "an object");
    for (const auto& [k, v] : json_[key].items()) {
      if (!v.is_number()) wrong(key, "an object of numbers");
      if (hf_name == k || hf_name.ends_with("." + k)) return v.get<double>();
    }
    return fallback;
  }

 private:
  template <class T>
  T value(const char* key, T fallback, bool (Json::*is)() const noexcept, const char* what) const {
    if (!has(key)) return fallback;
    if (!(json_[key].*is)()) wrong(key, what);
    return json_[key].get<T>();
  }
  [[noreturn]] void wrong(const char* key, const char* what) const {
    throw Error(ErrorKind::bad_file, std::string(key) + " must be " + what, where_);
  }
  std::string where_;
  Json json_;
};

nn::AdapterMethod method_of(const Config& c) {
  if (c.text("peft_type") != "LORA")
    throw Error(ErrorKind::unsupported, "peft_type '" + c.text("peft_type") + "' is not built", c.where(), "LORA is");
  if (c.has("bias") && c.text("bias") != "none")
    throw Error(ErrorKind::unsupported, "adapters with trained biases are not built", c.where());
  if (c.flag("fan_in_fan_out")) throw Error(ErrorKind::unsupported, "fan_in_fan_out is not built", c.where());
  if (!c.empty_list("modules_to_save"))
    throw Error(ErrorKind::unsupported, "modules_to_save (whole layers beside the adapter) is not built", c.where());
  if (c.flag("use_dora") && c.flag("use_rslora")) throw Error(ErrorKind::unsupported, "DoRA with the rsLoRA scale is not built", c.where());
  return c.flag("use_dora") ? nn::AdapterMethod::dora : c.flag("use_rslora") ? nn::AdapterMethod::rslora : nn::AdapterMethod::lora;
}

struct Parts {
  Tensor a, b, magnitude;
};

Tensor floats(const io::SafeTensors& file, const io::SafeTensor& t, const std::string& where) {
  if (!t.dtype || (*t.dtype != DType::f32 && *t.dtype != DType::f16 && *t.dtype != DType::bf16))
    throw Error(ErrorKind::bad_file, t.name + " has type " + std::string(t.type) + ", must be F32, F16 or BF16", where);
  const Tensor in = file.tensor(t.name);
  Tensor out = Tensor::empty(in.shape());
  for (std::int64_t i = 0; i < in.numel(); ++i)
    out.data<float>()[i] = in.dtype() == DType::f32   ? in.data<float>()[i]
                           : in.dtype() == DType::f16 ? to_float(in.data<Half>()[i])
                                                      : to_float(in.data<BFloat16>()[i]);
  return out;
}

std::map<std::string, Parts> read_parts(const std::filesystem::path& path, io::ReadMode mode) {
  const io::SafeTensors file = io::SafeTensors::open(path, mode);
  const std::string where = path.string();
  constexpr std::string_view kEnds[] = {".lora_A.weight", ".lora_B.weight", ".lora_magnitude_vector", ".lora_magnitude_vector.weight"};
  std::map<std::string, Parts> parts;
  for (const io::SafeTensor& t : file.tensors()) {
    std::string_view name = t.name;
    int part = -1;
    for (int i = 0; i < 4; ++i)
      if (name.ends_with(kEnds[i])) part = i;
    if (!name.starts_with(kPrefix) || part < 0)
      throw Error(ErrorKind::bad_file, "tensor " + t.name + " is no part of a LoRA adapter", where);
    name = name.substr(kPrefix.size(), name.size() - kPrefix.size() - kEnds[part].size());
    const std::string module = module_of_peft(name);
    if (module.empty())
      throw Error(ErrorKind::unsupported, "adapters of " + std::string(name) + " are not built", where,
                  "q, k, v, o, gate, up, down of blocks and lm_head can have one");
    Parts& p = parts[module];
    Tensor& place = part == 0 ? p.a : part == 1 ? p.b : p.magnitude;
    if (place.defined()) throw Error(ErrorKind::bad_file, t.name + " is given twice, under two names", where);
    place = floats(file, t, where);
  }
  if (parts.empty()) throw Error(ErrorKind::bad_file, "the adapter has no tensors", where);
  return parts;
}

int heads_of(const Adapter::Body& body, const std::string& module) {
  return module.ends_with(".attn_q") ? body.q_heads : module.ends_with(".attn_k") ? body.k_heads : 0;
}
Tensor reordered(const Tensor& t, int heads, bool to_adjacent) {
  if (heads == 0 || !t.defined()) return t;
  return permute_rows(t.rank() == 1 ? t.reshape({t.numel(), 1}) : t, heads, to_adjacent).reshape(t.shape());
}

}  // namespace

Adapter load_peft(const std::filesystem::path& folder, const Model& model, bool force) {
  const Config config(folder / kConfigFile);
  const nn::AdapterMethod method = method_of(config);
  auto body = std::make_shared<Adapter::Body>(body_for(model, false));
  body->method = method;
  body->name = folder.filename().empty() ? folder.parent_path().filename().string() : folder.filename().string();
  body->dropout = static_cast<float>(config.number("lora_dropout", 0));
  if (!(body->dropout >= 0 && body->dropout < 1)) throw Error(ErrorKind::bad_file, "lora_dropout must be in [0, 1)", config.where());
  body->base_sha256 = config.text("hanzo_base_sha256");
  body->forced = check_base(body->base_sha256, model, force, config.where()) || config.flag("hanzo_forced");
  const auto linears = linears_of(model);
  const std::string where = (folder / kWeightsFile).string();
  for (auto& [module, p] : read_parts(folder / kWeightsFile, model.options().read_mode)) {
    if (!p.a.defined() || !p.b.defined())
      throw Error(ErrorKind::bad_file, module + " has one of lora_A and lora_B without the other", where);
    if (p.magnitude.defined() != (method == nn::AdapterMethod::dora))
      throw Error(ErrorKind::bad_file, module + ": lora_magnitude_vector and use_dora do not agree", where);
    if (p.magnitude.defined()) p.magnitude = p.magnitude.reshape({p.magnitude.numel()});
    check_target(module, p.a, p.b, p.magnitude, linears, where);
    const std::string name = peft_name(module);
    const double rank = config.pattern("rank_pattern", name, config.number("r", static_cast<double>(p.a.rows())));
    if (rank != static_cast<double>(p.a.rows()))
      throw Error(ErrorKind::bad_file,
                  module + " has rank " + std::to_string(p.a.rows()) + ", adapter_config.json says " + std::to_string(rank), where);
    const auto alpha = static_cast<float>(config.pattern("alpha_pattern", name, config.number("lora_alpha", 8)));
    if (!std::isfinite(alpha)) throw Error(ErrorKind::bad_file, "lora_alpha is not finite", config.where());
    const int heads = heads_of(*body, module);
    body->targets.push_back(
        make_target(module, p.a, reordered(p.b, heads, true), reordered(p.magnitude, heads, true), method, alpha, body->dropout));
  }
  return Adapter(std::move(body));
}

}  // namespace model

namespace {

// The value most layers have; the others go to the pattern.
template <class T>
T commonest(const std::vector<T>& values) {
  std::map<T, int> counts;
  for (const T& v : values) ++counts[v];
  return std::max_element(counts.begin(), counts.end(), [](const auto& a, const auto& b) { return a.second < b.second; })->first;
}

nlohmann::ordered_json config_of(const Adapter::Body& b) {
  std::vector<std::int64_t> ranks;
  std::vector<float> alphas;
  std::set<std::string> names;
  for (const Adapter::Target& t : b.targets) {
    ranks.push_back(t.lora.rank());
    alphas.push_back(t.alpha);
    const std::string full = model::peft_name(t.module);
    names.insert(full.substr(full.rfind('.') + 1));
  }
  const auto rank = ranks.empty() ? 1 : commonest(ranks);
  const float alpha = alphas.empty() ? 1.0f : commonest(alphas);
  nlohmann::ordered_json rank_pattern = nlohmann::ordered_json::object(), alpha_pattern = rank_pattern;
  for (const Adapter::Target& t : b.targets) {
    if (t.lora.rank() != rank) rank_pattern[model::peft_name(t.module)] = t.lora.rank();
    if (t.alpha != alpha) alpha_pattern[model::peft_name(t.module)] = t.alpha;
  }
  return {{"peft_type", "LORA"},
          {"task_type", "CAUSAL_LM"},
          {"base_model_name_or_path", b.base_name},
          {"inference_mode", true},
          {"r", rank},
          {"lora_alpha", alpha},
          {"lora_dropout", b.dropout},
          {"target_modules", names},
          {"rank_pattern", rank_pattern},
          {"alpha_pattern", alpha_pattern},
          {"bias", "none"},
          {"fan_in_fan_out", false},
          {"use_rslora", b.method == nn::AdapterMethod::rslora},
          {"use_dora", b.method == nn::AdapterMethod::dora},
          {"modules_to_save", nullptr},
          {"hanzo_base_sha256", b.base_sha256},
          {"hanzo_tokenizer_sha256", b.tokenizer_sha256},
          {"hanzo_forced", b.forced}};
}

}  // namespace

void Adapter::save(const std::filesystem::path& folder) const {
  const Body& b = *body_;
  io::SafeTensorsWriter writer;
  writer.metadata()["format"] = "pt";
  for (const Target& t : b.targets) {
    const std::string name = std::string(model::kPrefix) + model::peft_name(t.module);
    const int heads = model::heads_of(b, t.module);
    writer.add(name + ".lora_A.weight", t.lora.a);
    writer.add(name + ".lora_B.weight", model::reordered(t.lora.b, heads, false));
    if (t.lora.magnitude.defined()) writer.add(name + ".lora_magnitude_vector", model::reordered(t.lora.magnitude, heads, false));
  }
  const std::filesystem::path target = folder.filename().empty() ? folder.parent_path() : folder;
  const auto fill = [&](const std::filesystem::path& to) {
    try {
      writer.write(to / model::kWeightsFile);
      io::write_file(to / model::kConfigFile, config_of(b).dump(2) + "\n");
    } catch (const Error& e) {  // names the hidden folder
      throw Error(e.kind(), e.what(), target.string(), e.hint());
    }
  };
  if (io::is_there(target)) {  // what else is in it stays
    const io::TemporaryFolder fresh(target);
    fill(fresh.path());
    return io::replace_files(fresh, target, std::array{model::kWeightsFile, model::kConfigFile});
  }
  io::AtomicFolder whole(target);
  fill(whole.path());
  whole.commit();
}

}  // namespace hz
