// SPDX-License-Identifier: Apache-2.0
#include "src/model/convert/config.hpp"

#include <array>
#include <cmath>
#include <numbers>

#include "hanzo/core/error.hpp"
#include "src/io/input_file.hpp"
#include "src/io/message.hpp"

namespace hz::model::convert {
namespace {

constexpr std::uint64_t kMaxBytes = std::uint64_t{256} << 20;
constexpr Family kFamilies[] = {
    {.model_type = "llama", .arch = "llama", .permuted = true},
    {.model_type = "mistral", .arch = "llama", .permuted = true},
    {.model_type = "mixtral", .arch = "llama", .permuted = true, .experts = true},
    {.model_type = "qwen2", .arch = "qwen2"},
    {.model_type = "qwen3", .arch = "qwen3"},
    {.model_type = "gemma", .arch = "gemma", .norm_plus_one = true, .tied = true, .activation = "gelu_pytorch_tanh"},
    {.model_type = "gemma2", .arch = "gemma2", .norm_plus_one = true, .sandwich = true, .tied = true, .activation = "gelu_pytorch_tanh"},
    {.model_type = "gemma3_text",
     .arch = "gemma3",
     .norm_plus_one = true,
     .sandwich = true,
     .tied = true,
     .activation = "gelu_pytorch_tanh"},
};

// JSON nested deeper than this is refused before it is parsed.
void check_depth(std::string_view text, const std::filesystem::path& file) {
  int depth = 0;
  bool inside = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (inside) {
      if (text[i] == '\\') ++i;
      else if (text[i] == '"') inside = false;
    } else if (text[i] == '"') {
      inside = true;
    } else if (text[i] == '{' || text[i] == '[') {
      if (++depth > 128) throw Error(ErrorKind::bad_file, "is nested deeper than 128", file.string());
    } else if (text[i] == '}' || text[i] == ']') {
      --depth;
    }
  }
}

// Rope parameters stand in the config itself, in rope_scaling, or, since transformers 5, in rope_parameters, one set or
// one for each kind of layer.
nlohmann::json rope_of(const Config& c, const char* kind) {
  for (const char* key : {"rope_parameters", "rope_scaling"}) {
    if (!c.has(key) || !c.at(key).is_object()) continue;
    const nlohmann::json& r = c.at(key);
    if (r.contains(kind) && r.at(kind).is_object()) return r.at(kind);
    if (r.contains("rope_theta") || r.contains("rope_type") || r.contains("type")) return r;
  }
  return nlohmann::json::object();
}
double number(const nlohmann::json& j, const char* key, double fallback, const Config& c) {
  if (!j.contains(key) || j.at(key).is_null()) return fallback;
  if (!j.at(key).is_number()) c.bad(std::string("rope's ") + key + " is no number");
  return j.at(key).get<double>();
}

// Llama 3: long waves are stretched, short ones kept, those between blended (Hugging Face, rope_type llama3).
std::vector<float> llama3_divisors(const nlohmann::json& r, double base, std::int64_t dim, const Config& c) {
  const double factor = number(r, "factor", 8, c), low = number(r, "low_freq_factor", 1, c), high = number(r, "high_freq_factor", 4, c);
  const double context = number(r, "original_max_position_embeddings", 8192, c);
  if (!(factor > 0 && low > 0 && high > low && context > 0)) c.bad("rope's llama3 factors are out of range");
  std::vector<float> d;
  for (std::int64_t i = 0; i < dim; i += 2) {
    const double wave = 2 * std::numbers::pi * std::pow(base, static_cast<double>(i) / static_cast<double>(dim));
    const double smooth = (context / wave - low) / (high - low);
    d.push_back(static_cast<float>(wave < context / high ? 1.0 : wave > context / low ? factor : 1 / ((1 - smooth) / factor + smooth)));
  }
  return d;
}

class Header {
 public:
  Header(const Config& c, const Family& f, io::Metadata& out) : c_(c), f_(f), out_(out) {}

  HeaderParts run() {
    refuse_options();
    sizes();
    rope();
    if (f_.arch == "gemma2" || f_.arch == "gemma3") windows();
    if (f_.experts) {
      p_.experts = c_.integer("num_local_experts");
      count("expert_count", p_.experts);
      count("expert_used_count", c_.integer("num_experts_per_tok"));
    }
    p_.tied = c_.flag_or("tie_word_embeddings", f_.tied);
    return p_;
  }

 private:
  void refuse_options() {
    const std::string act = c_.text_or("hidden_activation", c_.text_or("hidden_act", std::string(f_.activation)));
    const bool gelu =
        f_.activation == "gelu_pytorch_tanh" && (act == "gelu" || act == "gelu_pytorch_tanh");  // gemma's configs say gelu and mean tanh
    if (act != f_.activation && !gelu) c_.unsupported("activation '" + act + "' is not built for " + std::string(f_.model_type));
    if (c_.flag_or("use_sliding_window", false)) c_.unsupported("sliding windows of " + std::string(f_.model_type) + " are not built");
    if (c_.flag_or("use_bidirectional_attention", false)) c_.unsupported("bidirectional attention is not built");
  }
  void sizes() {
    p_.layers = c_.integer("num_hidden_layers");
    p_.heads = c_.integer("num_attention_heads");
    p_.kv_heads = c_.integer_or("num_key_value_heads", p_.heads);
    const std::int64_t hidden = p_.hidden = c_.integer("hidden_size");
    p_.ffn = c_.integer("intermediate_size");
    p_.vocab = c_.integer("vocab_size");
    if (p_.layers < 1 || p_.layers > 10000 || p_.heads < 1 || p_.kv_heads < 1 || hidden < 1) c_.bad("sizes must be positive");
    const std::int64_t usual = f_.model_type == "gemma3_text" || f_.model_type == "gemma2" || f_.model_type == "gemma" ? 256
                               : f_.model_type == "qwen3"                                                              ? 128
                                                                                                                       : hidden / p_.heads;
    p_.head_dim = c_.integer_or("head_dim", usual);
    if (p_.head_dim < 2 || p_.head_dim % 2 != 0 || p_.head_dim > 1024) c_.bad("head_dim is " + std::to_string(p_.head_dim));
    std::int64_t context = c_.integer_or("max_position_embeddings", 2048);
    if (f_.arch == "llama" && c_.has("sliding_window"))
      context = std::min(context, c_.integer("sliding_window"));  // exact within the window
    count("context_length", context);
    count("embedding_length", hidden);
    count("block_count", p_.layers);
    count("feed_forward_length", p_.ffn);
    count("attention.head_count", p_.heads);
    count("attention.head_count_kv", p_.kv_heads);
    count("attention.key_length", p_.head_dim);
    count("attention.value_length", p_.head_dim);
    count("vocab_size", p_.vocab);
    real("attention.layer_norm_rms_epsilon", c_.real_or("rms_norm_eps", 1e-6));
  }
  void rope() {
    const nlohmann::json r = rope_of(c_, "full_attention");
    const double base = number(r, "rope_theta", c_.real_or("rope_theta", f_.arch == "gemma3" ? 1e6 : 10000), c_);
    count("rope.dimension_count", p_.head_dim);
    real("rope.freq_base", base);
    const std::string kind = r.contains("rope_type") && r.at("rope_type").is_string() ? r.at("rope_type").get<std::string>()
                             : r.contains("type") && r.at("type").is_string()         ? r.at("type").get<std::string>()
                                                                                      : "default";
    if (c_.real_or("partial_rotary_factor", 1) != 1) c_.unsupported("partial rotation is not built for " + std::string(f_.model_type));
    if (kind == "default") return;
    if (kind == "linear") {
      out_.set(key("rope.scaling.type"), {std::string("linear")});
      real("rope.scaling.factor", number(r, "factor", 1, c_));
    } else if (kind == "llama3") {
      p_.rope_divisors = llama3_divisors(r, base, p_.head_dim, c_);
    } else {
      c_.unsupported("rope of type '" + kind + "' is not built");
    }
  }
  void windows() {
    const std::int64_t period = f_.arch == "gemma2" ? 2 : 6;
    if (c_.has("sliding_window")) count("attention.sliding_window", c_.integer("sliding_window"));
    std::vector<bool> sliding;
    for (std::int64_t i = 0; i < p_.layers; ++i)
      sliding.push_back(i % c_.integer_or("sliding_window_pattern", period) != c_.integer_or("sliding_window_pattern", period) - 1);
    if (c_.has("layer_types")) {
      const nlohmann::json& types = c_.at("layer_types");
      if (!types.is_array() || static_cast<std::int64_t>(types.size()) != p_.layers) c_.bad("layer_types does not name every layer");
      for (std::size_t i = 0; i < types.size(); ++i) sliding[i] = types[i] == "sliding_attention";
    }
    bool regular = true;
    for (std::int64_t i = 0; i < p_.layers; ++i) regular = regular && sliding[static_cast<std::size_t>(i)] == (i % period != period - 1);
    if (!regular) out_.set(key("attention.sliding_window_pattern"), {io::Array(sliding)});
    const double scalar = c_.real_or("query_pre_attn_scalar", static_cast<double>(p_.head_dim));
    if (scalar != static_cast<double>(p_.head_dim)) real("attention.scale", 1 / std::sqrt(scalar));
    if (f_.arch == "gemma2") {
      real("attn_logit_softcapping", c_.real_or("attn_logit_softcapping", 0));
      real("final_logit_softcapping", c_.real_or("final_logit_softcapping", 0));
    } else {
      if (c_.has("attn_logit_softcapping")) real("attn_logit_softcapping", c_.real("attn_logit_softcapping"));
      if (c_.has("final_logit_softcapping")) real("final_logit_softcapping", c_.real("final_logit_softcapping"));
      real("rope.freq_base_swa", number(rope_of(c_, "sliding_attention"), "rope_theta", c_.real_or("rope_local_base_freq", 10000), c_));
    }
  }
  std::string key(std::string_view name) const { return std::string(f_.arch) + "." + std::string(name); }
  void count(std::string_view name, std::int64_t v) {
    if (v < 0 || v > INT32_MAX) c_.bad(std::string(name) + " would be " + std::to_string(v));
    out_.set(key(name), {static_cast<std::uint32_t>(v)});
  }
  void real(std::string_view name, double v) { out_.set(key(name), {static_cast<float>(v)}); }

  const Config& c_;
  const Family& f_;
  io::Metadata& out_;
  HeaderParts p_;
};

}  // namespace

std::string read_text(const std::filesystem::path& file, bool needed) {
  if (!needed && !io::is_there(file)) return {};
  return io::InputFile(file).text(kMaxBytes);
}

nlohmann::json read_json(const std::filesystem::path& file, bool needed) {
  const std::string text = read_text(file, needed);
  if (text.empty() && !needed) return nullptr;
  check_depth(text, file);
  nlohmann::json j;
  try {
    j = nlohmann::json::parse(text);
  } catch (const nlohmann::json::exception& e) {
    throw Error(ErrorKind::bad_file, "is not JSON: " + io::json_reason(e.what(), true), file.string(), "get the folder's files again");
  }
  if (!j.is_object()) throw Error(ErrorKind::bad_file, "is no JSON object", file.string());
  return j;
}

bool Config::has(std::string_view key) const {
  const auto it = values_.find(std::string(key));
  return it != values_.end() && !it->is_null();
}
std::int64_t Config::integer(std::string_view key) const {
  if (!has(key)) bad(std::string(key) + " is missing");
  const nlohmann::json& v = at(key);
  if (!v.is_number_integer()) bad(std::string(key) + " is no integer");
  return v.get<std::int64_t>();
}
double Config::real(std::string_view key) const {
  if (!has(key) || !at(key).is_number()) bad(std::string(key) + " is no number");
  return at(key).get<double>();
}
bool Config::flag_or(std::string_view key, bool fallback) const {
  if (!has(key)) return fallback;
  if (!at(key).is_boolean()) bad(std::string(key) + " is neither true nor false");
  return at(key).get<bool>();
}
std::string Config::text_or(std::string_view key, std::string fallback) const {
  if (!has(key)) return fallback;
  if (!at(key).is_string()) bad(std::string(key) + " is no text");
  return at(key).get<std::string>();
}
void Config::bad(const std::string& what) const { throw Error(ErrorKind::bad_file, what, source_); }
void Config::unsupported(const std::string& what, const std::string& hint) const {
  throw Error(ErrorKind::unsupported, what, source_, hint);
}

const Family& family_of(const Config& config) {
  const std::string type = config.text_or("model_type", "");
  std::string known;
  for (const Family& f : kFamilies) {
    if (f.model_type == type) return f;
    known += (known.empty() ? "" : ", ") + std::string(f.model_type);
  }
  config.unsupported("model_type '" + type + "' is not built", "built: " + known);
}

HeaderParts write_header(const Config& config, const Family& family, io::Metadata& out) { return Header(config, family, out).run(); }

}  // namespace hz::model::convert
