// SPDX-License-Identifier: Apache-2.0
// Folders to GGUF: every built family converts, loads and computes; rows, norms and tokenizers arrive as they should; what
// is not built is refused by name.
#include "hanzo/model/convert.hpp"

#include <cmath>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>

#include "hanzo/core/random.hpp"
#include "hanzo/io/safetensors.hpp"
#include "hanzo/model/model.hpp"
#include "hanzo/quant/format/decode.h"
#include "hanzo/quant/format/q4_1.h"
#include "hanzo/text/tokenizer.hpp"
#include "tests/catch.hpp"
#include "tests/errors.hpp"
#include "tests/temp_dir.hpp"

using namespace hz;
using test::error_of_call;
using nlohmann::json;
namespace fs = std::filesystem;

namespace {

constexpr std::int64_t kHidden = 64, kFf = 96, kLayers = 2, kHeads = 4, kKv = 2, kDim = 16;

json config(const std::string& type, std::int64_t vocab) {
  json c = {{"model_type", type},
            {"hidden_size", kHidden},
            {"intermediate_size", kFf},
            {"num_hidden_layers", kLayers},
            {"num_attention_heads", kHeads},
            {"num_key_value_heads", kKv},
            {"head_dim", kDim},
            {"max_position_embeddings", 256},
            {"vocab_size", vocab},
            {"rms_norm_eps", 1e-5},
            {"tie_word_embeddings", false}};
  if (type.starts_with("gemma")) {
    c["hidden_activation"] = "gelu_pytorch_tanh";
    c["tie_word_embeddings"] = true;
    c["query_pre_attn_scalar"] = 32;
    c["sliding_window"] = 32;
    if (type == "gemma2") c["attn_logit_softcapping"] = 50.0, c["final_logit_softcapping"] = 30.0;
  } else {
    c["hidden_act"] = "silu";
  }
  if (type == "mixtral") c["num_local_experts"] = 4, c["num_experts_per_tok"] = 2;
  return c;
}

// Random tensors of a family, under Hugging Face's names.
class Folder {
 public:
  Folder(const fs::path& path, const std::string& type, std::int64_t vocab = 96) : path_(path), type_(type) {
    fs::create_directories(path);
    config_ = config(type, vocab);
    matrix("model.embed_tokens.weight", vocab, kHidden);
    vector("model.norm.weight", kHidden);
    if (!type.starts_with("gemma")) matrix("lm_head.weight", vocab, kHidden);
    for (std::int64_t i = 0; i < kLayers; ++i) layer("model.layers." + std::to_string(i) + ".");
  }
  json& settings() { return config_; }
  std::map<std::string, Tensor>& tensors() { return tensors_; }
  void write() const {
    std::ofstream(path_ / "config.json") << config_.dump();
    io::SafeTensorsWriter w;
    for (const auto& [name, t] : tensors_) w.add(name, t);
    w.write(path_ / "model.safetensors");
  }
  const fs::path& path() const { return path_; }

 private:
  void matrix(const std::string& name, std::int64_t rows, std::int64_t cols) {
    Tensor t = Tensor::empty({rows, cols}, DType::bf16);
    for (std::int64_t i = 0; i < t.numel(); ++i)
      t.data<BFloat16>()[i] = to_bfloat16(0.3f * (uniform(seed_, 1, static_cast<std::uint64_t>(i)) - 0.5f));
    ++seed_;
    tensors_[name] = t;
  }
  void vector(const std::string& name, std::int64_t n) {
    Tensor t = Tensor::empty({n});
    const float base = type_.starts_with("gemma") ? 0.0f : 1.0f;
    for (std::int64_t i = 0; i < n; ++i) t.data<float>()[i] = base + 0.2f * uniform(seed_, 2, static_cast<std::uint64_t>(i));
    ++seed_;
    tensors_[name] = t;
  }
  void layer(const std::string& p) {
    vector(p + "input_layernorm.weight", kHidden);
    vector(p + "post_attention_layernorm.weight", kHidden);
    if (type_ == "gemma2" || type_ == "gemma3_text") {
      vector(p + "pre_feedforward_layernorm.weight", kHidden);
      vector(p + "post_feedforward_layernorm.weight", kHidden);
    }
    matrix(p + "self_attn.q_proj.weight", kHeads * kDim, kHidden);
    matrix(p + "self_attn.k_proj.weight", kKv * kDim, kHidden);
    matrix(p + "self_attn.v_proj.weight", kKv * kDim, kHidden);
    matrix(p + "self_attn.o_proj.weight", kHidden, kHeads * kDim);
    if (type_ == "qwen2")
      for (const char* name : {"q", "k", "v"}) vector(p + "self_attn." + name + "_proj.bias", (*name == 'q' ? kHeads : kKv) * kDim);
    if (type_ == "qwen3" || type_ == "gemma3_text")
      for (const char* name : {"q", "k"}) vector(p + "self_attn." + name + "_norm.weight", kDim);
    if (type_ == "mixtral") {
      matrix(p + "block_sparse_moe.gate.weight", 4, kHidden);
      for (int e = 0; e < 4; ++e) {
        const std::string x = p + "block_sparse_moe.experts." + std::to_string(e) + ".";
        matrix(x + "w1.weight", kFf, kHidden);
        matrix(x + "w2.weight", kHidden, kFf);
        matrix(x + "w3.weight", kFf, kHidden);
      }
      return;
    }
    matrix(p + "mlp.gate_proj.weight", kFf, kHidden);
    matrix(p + "mlp.up_proj.weight", kFf, kHidden);
    matrix(p + "mlp.down_proj.weight", kHidden, kFf);
  }

  fs::path path_;
  std::string type_;
  json config_;
  std::map<std::string, Tensor> tensors_;
  std::uint64_t seed_ = 7;
};

float value(const Tensor& t, std::int64_t i) { return t.dtype() == DType::bf16 ? to_float(t.data<BFloat16>()[i]) : t.data<float>()[i]; }


}  // namespace

TEST_CASE("every built family converts to a file that loads and computes") {
  const test::TempDir dir;
  for (const char* type : {"llama", "mistral", "mixtral", "qwen2", "qwen3", "gemma", "gemma2", "gemma3_text"}) {
    INFO(type);
    Folder folder(dir.path() / type, type);
    folder.write();
    const fs::path out = dir.path() / (std::string(type) + ".gguf");
    const auto s = model::convert_folder(folder.path(), out);
    CHECK(s.bytes == fs::file_size(out));
    const Model m = Model::load(out, {.threads = 1, .context = 64});
    CHECK(m.arch().name == s.family);
    auto kv = m.new_sequence();
    const std::vector<std::int32_t> ids{1, 5, 9, 2, 77};
    const SequenceChunk chunk{&kv, ids};
    const Tensor logits = m.forward({&chunk, 1}, LogitRows::all);
    for (const float f : logits.span<float>()) CHECK(std::isfinite(f));
    CHECK(m.file().tensor("blk.1.attn_v.weight").decode().data<float>()[17] ==
          value(folder.tensors()["model.layers.1.self_attn.v_proj.weight"], 17));
  }
}

TEST_CASE("q and k rows of llama are reordered for adjacent pairs, norms of gemma get their one") {
  const test::TempDir dir;
  Folder llama(dir.path() / "llama", "llama");
  llama.write();
  model::convert_folder(llama.path(), dir.path() / "llama.gguf");
  const io::Gguf a = io::Gguf::open(dir.path() / "llama.gguf");
  const Tensor q = a.tensor("blk.0.attn_q.weight").decode(), theirs = llama.tensors()["model.layers.0.self_attn.q_proj.weight"];
  for (std::int64_t h = 0; h < kHeads; ++h)
    for (std::int64_t i = 0; i < kDim / 2; ++i)
      for (std::int64_t j = 0; j < 2; ++j)
        CHECK(q.data<float>()[(h * kDim + 2 * i + j) * kHidden + 3] == value(theirs, (h * kDim + j * kDim / 2 + i) * kHidden + 3));
  Folder gemma(dir.path() / "gemma2", "gemma2");
  gemma.write();
  model::convert_folder(gemma.path(), dir.path() / "gemma.gguf");
  const io::Gguf b = io::Gguf::open(dir.path() / "gemma.gguf");
  CHECK(b.dense("blk.1.post_ffw_norm.weight").data<float>()[5] ==
        gemma.tensors()["model.layers.1.post_feedforward_layernorm.weight"].data<float>()[5] + 1.0f);
  CHECK(b.metadata().require<float>("gemma2.attention.scale") == Approx(1 / std::sqrt(32.0)));
  CHECK(b.find("output.weight") == nullptr);
}

TEST_CASE("experts are stacked in the order of their numbers") {
  const test::TempDir dir;
  Folder f(dir.path() / "m", "mixtral");
  f.write();
  model::convert_folder(f.path(), dir.path() / "m.gguf");
  const QTensor up = io::Gguf::open(dir.path() / "m.gguf").tensor("blk.1.ffn_up_exps.weight");
  CHECK(up.shape() == Shape{4, kFf, kHidden});
  CHECK(up.expert(2).decode().data<float>()[100] == value(f.tensors()["model.layers.1.block_sparse_moe.experts.2.w3.weight"], 100));
}

TEST_CASE("rope of llama 3 becomes divisors, linear scaling a key") {
  const test::TempDir dir;
  Folder f(dir.path() / "m", "llama");
  f.settings()["rope_theta"] = 500000.0;
  f.settings()["rope_scaling"] = {{"rope_type", "llama3"},
                                  {"factor", 8.0},
                                  {"low_freq_factor", 1.0},
                                  {"high_freq_factor", 4.0},
                                  {"original_max_position_embeddings", 8192}};
  f.write();
  model::convert_folder(f.path(), dir.path() / "m.gguf");
  const io::Gguf g = io::Gguf::open(dir.path() / "m.gguf");
  const Tensor d = g.dense("rope_freqs.weight");
  CHECK(d.numel() == kDim / 2);
  CHECK(d.data<float>()[0] == 1.0f);
  CHECK(d.data<float>()[7] == 8.0f);
  f.settings()["rope_scaling"] = {{"type", "linear"}, {"factor", 2.0}};
  f.write();
  model::convert_folder(f.path(), dir.path() / "m.gguf");
  CHECK(io::Gguf::open(dir.path() / "m.gguf").metadata().require<float>("llama.rope.scaling.factor") == 2.0f);
}

TEST_CASE("tokenizers and chat templates arrive; ids are those of tokenizer.json") {
  const test::TempDir dir;
  for (const char* name : {"llama3", "qwen", "gemma"}) {
    INFO(name);
    const fs::path source = fs::path(HZ_TEST_DATA) / "tokenizers" / (std::string(name) + ".json");
    const auto hf = text::Tokenizer::from_hf(source);
    Folder f(dir.path() / name, "llama", hf->size() + 3);
    f.write();
    fs::copy_file(source, f.path() / "tokenizer.json");
    std::ofstream(f.path() / "tokenizer_config.json")
        << json{{"chat_template", "{{ messages[0]['content'] }}"}, {"bos_token", "<s>"}, {"eos_token", "</s>"}}.dump();
    const fs::path out = dir.path() / (std::string(name) + ".gguf");
    const auto s = model::convert_folder(f.path(), out);
    CHECK(!s.tokenizer.empty());
    const io::Gguf g = io::Gguf::open(out);
    CHECK(g.metadata().require<std::string>("tokenizer.chat_template") == "{{ messages[0]['content'] }}");
    const auto ours = text::Tokenizer::from_gguf(g.metadata());
    for (const char* t : {"hello world", "The  quick\nbrown 1234 fox's", "\xC3\xA9\xE4\xBD\xA0 x"}) CHECK(ours->encode(t) == hf->encode(t));
    CHECK(ours->size() == hf->size() + 3);
  }
}

TEST_CASE("what is not built is refused by name, and no file is left") {
  const test::TempDir dir;
  const fs::path out = dir.path() / "out.gguf";
  const auto refused = [&](const std::string& type, const std::function<void(Folder&)>& change, const std::string& names) {
    INFO(names);
    fs::remove_all(dir.path() / "m");
    Folder f(dir.path() / "m", type);
    change(f);
    f.write();
    const Error e = error_of_call([&] { model::convert_folder(f.path(), out); });
    CHECK((e.kind() == ErrorKind::unsupported || e.kind() == ErrorKind::bad_file));
    CHECK(std::string(e.what()).find(names) != std::string::npos);
    CHECK(!fs::exists(out));
  };
  refused("llama", [](Folder& f) { f.settings()["model_type"] = "mamba"; }, "mamba");
  refused("llama", [](Folder& f) { f.settings()["rope_scaling"] = {{"rope_type", "yarn"}, {"factor", 2.0}}; }, "yarn");
  refused("llama", [](Folder& f) { f.settings()["hidden_act"] = "relu"; }, "relu");
  refused("llama", [](Folder& f) { f.settings()["quantization_config"] = {{"quant_method", "gptq"}}; }, "gptq");
  refused("llama", [](Folder& f) { f.tensors()["model.layers.0.extra.weight"] = Tensor::zeros({4}); }, "model.layers.0.extra.weight");
  refused("llama", [](Folder& f) { f.tensors().erase("model.layers.1.mlp.up_proj.weight"); }, "model.layers.1.mlp.up_proj.weight");
  refused("qwen2", [](Folder& f) { f.settings()["use_sliding_window"] = true; }, "sliding");
  refused("llama", [](Folder& f) { f.settings().erase("hidden_size"); }, "hidden_size");
  refused("llama", [](Folder& f) { f.settings()["rms_norm_eps"] = -1.0; }, "layer_norm_rms_epsilon is -1, must be from 0 to 1");
  refused("llama", [](Folder& f) { f.settings()["rope_theta"] = 0; }, "rope.freq_base is 0, must be from 1 to");
  refused("llama", [](Folder& f) { f.settings()["max_position_embeddings"] = 0; }, "context_length");
}

TEST_CASE("an index of shards is followed inside the folder alone") {
  const test::TempDir dir;
  Folder f(dir.path() / "m", "llama");
  f.write();
  json map = json::object();
  io::SafeTensorsWriter parts[2];
  std::size_t i = 0;
  for (const auto& [name, t] : f.tensors()) {
    parts[i % 2].add(name, t);
    map[name] = "model-" + std::to_string(i % 2) + ".safetensors";
    ++i;
  }
  for (int p = 0; p < 2; ++p) parts[p].write(f.path() / ("model-" + std::to_string(p) + ".safetensors"));
  model::convert_folder(f.path(), dir.path() / "one.gguf");
  fs::remove(f.path() / "model.safetensors");
  std::ofstream(f.path() / "model.safetensors.index.json") << json{{"weight_map", map}}.dump();
  model::convert_folder(f.path(), dir.path() / "two.gguf");
  CHECK(fs::file_size(dir.path() / "one.gguf") == fs::file_size(dir.path() / "two.gguf"));
  map.begin().value() = "../m/model-0.safetensors";
  std::ofstream(f.path() / "model.safetensors.index.json") << json{{"weight_map", map}}.dump();
  CHECK(error_of_call([&] { model::convert_folder(f.path(), dir.path() / "two.gguf"); }).kind() == ErrorKind::bad_file);
}

namespace {

// Rewrites model.safetensors with one tensor replaced by raw ones of types that Tensor does not have.
struct RawTensor {
  std::string name, type;
  std::vector<std::int64_t> shape;
  std::string bytes;
};
void write_raw(const Folder& folder, const std::map<std::string, Tensor>& tensors, const std::vector<RawTensor>& raw) {
  json header = json::object();
  std::string data;
  const auto put = [&](const std::string& name, const std::string& type, const std::vector<std::int64_t>& shape, std::string_view bytes) {
    header[name] = {{"dtype", type}, {"shape", shape}, {"data_offsets", {data.size(), data.size() + bytes.size()}}};
    data += bytes;
  };
  for (const auto& [name, t] : tensors)
    put(name, t.dtype() == DType::bf16 ? "BF16" : "F32", {t.shape().begin(), t.shape().end()},
        {reinterpret_cast<const char*>(t.raw()), t.nbytes()});
  for (const RawTensor& t : raw) put(t.name, t.type, t.shape, t.bytes);
  const std::string text = header.dump();
  const std::uint64_t size = text.size();
  std::ofstream out(folder.path() / "model.safetensors", std::ios::binary);
  out.write(reinterpret_cast<const char*>(&size), 8) << text << data;
}
std::string floats(std::initializer_list<float> values) { return {reinterpret_cast<const char*>(values.begin()), values.size() * 4}; }
std::string repeated(float v, std::size_t n) {
  std::string s;
  for (std::size_t i = 0; i < n; ++i) s += floats({v});
  return s;
}

}  // namespace

TEST_CASE("FP8 becomes BF16 where that is exact, else F32, else an error") {
  const test::TempDir dir;
  const std::string name = "model.layers.0.mlp.up_proj.weight";
  Folder f(dir.path() / "m", "llama");
  f.settings()["quantization_config"] = {{"quant_method", "fp8"}};
  f.write();
  f.tensors().erase(name);
  std::string codes;
  for (std::int64_t i = 0; i < kFf * kHidden; ++i) codes += static_cast<char>(i % 127 + (i % 2 ? 128 : 0));
  const auto convert = [&](float scale) {
    write_raw(f, f.tensors(), {{name, "F8_E4M3", {kFf, kHidden}, codes}, {name + "_scale", "F32", {1}, floats({scale})}});
    model::convert_folder(f.path(), dir.path() / "m.gguf");
    return io::Gguf::open(dir.path() / "m.gguf").tensor("blk.0.ffn_up.weight");
  };
  const QTensor half = convert(0.25f);
  CHECK(half.wtype() == WType::bf16);
  const Tensor v = half.decode();
  CHECK(v.data<float>()[0] == 0.0f);
  CHECK(v.data<float>()[1] == -0.25f * 0x1p-9f);  // 0x81: the least subnormal
  CHECK(v.data<float>()[56] == 0.25f);            // 0x38: 1
  CHECK(v.data<float>()[126] == 0.25f * 448);     // 0x7e: the largest
  CHECK(convert(1.0f + 0x1p-10f).wtype() == WType::f32);
  CHECK(error_of_call([&] { convert(1.0f + 0x1p-23f); }).kind() == ErrorKind::unsupported);
}

TEST_CASE("affine groups that Q4_1 and Q5_1 cannot hold become floats, each module as its own settings say") {
  const test::TempDir dir;
  const std::string stem = "model.layers.0.mlp.up_proj";
  Folder f(dir.path() / "m", "llama");
  f.settings()["quantization"] = {{"group_size", 32}, {"bits", 2}, {stem, {{"group_size", 64}, {"bits", 8}}}};
  f.write();
  f.tensors().erase(stem + ".weight");
  std::string codes;
  for (std::int64_t i = 0; i < kFf * kHidden; ++i) codes += static_cast<char>(7 * i % 256);
  const auto convert = [&](float scale, float bias) {
    write_raw(f, f.tensors(),
              {{stem + ".weight", "U32", {kFf, kHidden / 4}, codes},
               {stem + ".scales", "F32", {kFf, 1}, repeated(scale, kFf)},
               {stem + ".biases", "F32", {kFf, 1}, repeated(bias, kFf)}});
    model::convert_folder(f.path(), dir.path() / "m.gguf");
    const QTensor q = io::Gguf::open(dir.path() / "m.gguf").tensor("blk.0.ffn_up.weight");
    const Tensor v = q.decode();
    for (std::int64_t i = 0; i < v.numel(); ++i) CHECK(double(v.data<float>()[i]) == double(scale) * double(7 * i % 256) + double(bias));
    return q.wtype();
  };
  CHECK(convert(0.125f, -1.5f) == WType::f16);
  CHECK(convert(0x1p-40f, 0.0f) == WType::bf16);
  CHECK(convert(0.125f, 0x1.8p-12f) == WType::f32);
  CHECK(error_of_call([&] { convert(0.125f, 0x1p-30f); }).kind() == ErrorKind::unsupported);
}

TEST_CASE("affine groups become Q4_1 with the same values, or an error") {
  const test::TempDir dir;
  const std::string stem = "model.layers.0.mlp.up_proj";
  Folder f(dir.path() / "m", "llama");
  f.settings()["quantization"] = {{"group_size", 64}, {"bits", 4}};
  f.write();
  f.tensors().erase(stem + ".weight");
  std::string codes;
  for (std::int64_t i = 0; i < kFf * kHidden / 2; ++i) codes += static_cast<char>((2 * i % 16) | ((2 * i + 3) % 16) << 4);
  const auto convert = [&](float scale) {
    write_raw(f, f.tensors(),
              {{stem + ".weight", "U32", {kFf, kHidden / 8}, codes},
               {stem + ".scales", "F32", {kFf, 1}, repeated(scale, kFf)},
               {stem + ".biases", "F32", {kFf, 1}, repeated(-1.5f, kFf)}});
    model::convert_folder(f.path(), dir.path() / "m.gguf");
    return io::Gguf::open(dir.path() / "m.gguf").tensor("blk.0.ffn_up.weight");
  };
  const QTensor q = convert(0.125f);
  CHECK(q.wtype() == WType::q4_1);
  const Tensor v = q.decode();
  for (std::int64_t i = 0; i < v.numel(); ++i) {
    const auto code = static_cast<float>((i % 2 == 0 ? i : i + 2) % 16);
    CHECK(v.data<float>()[i] == 0.125f * code - 1.5f);
  }
  CHECK(error_of_call([&] { convert(0.1f); }).kind() == ErrorKind::unsupported);
  f.settings()["quantization"] = {{"group_size", 64}, {"bits", 8}};
  std::ofstream(f.path() / "config.json") << f.settings().dump();
  CHECK(error_of_call([&] { convert(0.125f); }).kind() == ErrorKind::bad_file);  // words of 4 bits
}
