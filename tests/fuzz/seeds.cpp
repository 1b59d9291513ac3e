// SPDX-License-Identifier: Apache-2.0
// fuzz-seeds FOLDER: writes the seeds that are files of ours (models, safetensors); the texts are kept as they are.
#include <cstdio>
#include <fstream>
#include <iterator>

#include "hanzo/io/safetensors.hpp"
#include "hanzo/model/adapter.hpp"
#include "hanzo/model/importance.hpp"
#include "tests/fuzz/tiny_base.hpp"
#include "tests/temp_dir.hpp"
#include "tests/text/synthetic.hpp"

using namespace hz;
using namespace hz::test;

namespace {

void add_tokenizer(io::GgufWriter& writer) {
  io::Metadata m = small_bpe().metadata("gpt2", "smollm");
  set_id(m, "tokenizer.ggml.eos_token_id", 1);
  for (const auto& [key, value] : m.entries()) writer.metadata().set(key, value);
  set_string(writer.metadata(), "tokenizer.chat_template", "{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}");
}

void models(const std::filesystem::path& folder) {
  TinySpec tiny{.layers = 1, .hidden = 32, .ff = 32, .vocab = 24, .context = 32, .heads = 2, .kv_heads = 1, .head_dim = 16};
  int n = 0;
  const auto write = [&](TinyModel model) { model.write(folder / ("model-" + std::to_string(n++) + ".gguf")); };
  write(TinyModel(tiny));
  for (const WType type : {WType::q4_0, WType::q8_0, WType::f16, WType::mxfp4}) {
    tiny.type = type;
    write(TinyModel(tiny));
  }
  tiny.type = WType::q5_1;
  tiny.arch = "qwen2";
  tiny.biases = true;
  write(TinyModel(tiny));
  tiny.arch = "gemma3";
  tiny.biases = false;
  tiny.qk_norm = tiny.post_norm = true;
  tiny.window = 5;
  write(TinyModel(tiny));
  tiny = {.layers = 1,
          .hidden = 32,
          .ff = 32,
          .vocab = 24,
          .context = 32,
          .heads = 2,
          .kv_heads = 1,
          .head_dim = 16,
          .type = WType::q8_0,
          .experts = 2,
          .experts_used = 1};
  write(TinyModel(tiny));
  tiny.experts = tiny.experts_used = 0;
  tiny.vocab = static_cast<std::int64_t>(small_bpe().texts.size());
  tiny.type = WType::q4_1;
  tiny.tied = true;
  TinyModel with_text(tiny);
  add_tokenizer(with_text.writer());
  write(std::move(with_text));
}

void tensors(const std::filesystem::path& folder) {
  io::SafeTensorsWriter writer;
  writer.metadata()["format"] = "pt";
  writer.add("a.weight", Tensor::zeros({2, 3}));
  writer.add("b", Tensor::zeros({4}, DType::f16));
  writer.add("empty", Tensor::zeros({0, 4}, DType::bf16));
  writer.write(folder / "three.safetensors");
  io::SafeTensorsWriter().write(folder / "none.safetensors");
}

std::string bytes_of(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}
void put(const std::filesystem::path& file, const std::string& bytes) { std::ofstream(file, std::ios::binary) << bytes; }

// As tests/fuzz/adapter.cpp takes them.
void adapters(const std::filesystem::path& folder) {
  const TempDir dir;
  fuzz::tiny_base().write(dir.path() / "base.gguf");
  const Model base = Model::load(dir.path() / "base.gguf", {.threads = 1, .context = 16});
  const std::pair<const char*, nn::LoraOptions> kinds[] = {
      {"lora", {.rank = 2, .alpha = 4, .targets = "attn_q,ffn_down"}},
      {"rslora", {.rank = 1, .alpha = 1, .targets = "attn_k,output", .method = nn::AdapterMethod::rslora}},
      {"dora", {.rank = 2, .alpha = 4, .targets = "attn_v", .method = nn::AdapterMethod::dora}},
      {"patterns", {.rank = 2, .alpha = 4, .targets = "attn_q,attn_v", .rank_pattern = {{"attn_v", 1}}, .alpha_pattern = {{"attn_v", 2}}}}};
  for (const auto& [name, options] : kinds) {
    const Adapter a = Adapter::create(base, options, Seed{1});
    a.save(dir.path() / name);
    put(folder / (std::string("folder-") + name),
        "\1" + bytes_of(dir.path() / name / "adapter_config.json") + '\0' + bytes_of(dir.path() / name / "adapter_model.safetensors"));
  }
  io::GgufWriter w;
  for (const auto& [key, value] : {std::pair{"general.type", "adapter"}, {"adapter.type", "lora"}, {"general.architecture", "llama"}})
    set_string(w.metadata(), key, value);
  w.metadata().set("adapter.lora.alpha", {4.0f});
  w.add("blk.0.attn_q.weight.lora_a", Tensor::zeros({2, 32}));
  w.add("blk.0.attn_q.weight.lora_b", Tensor::zeros({32, 2}, DType::f16));
  w.write(dir.path() / "lora.gguf");
  put(folder / "gguf", '\0' + bytes_of(dir.path() / "lora.gguf"));
}

void importance(const std::filesystem::path& folder) {
  model::Importance m;
  m.entries()["blk.0.attn_q.weight"] = {1, 4, {2, 4, 6, 8}, {2}};
  m.entries()["blk.0.ffn_up_exps.weight"] = {2, 3, {1, 2, 3, 0, 0, 0}, {1, 0}};
  m.datasets = {"a.txt"};
  m.chunk_count = 7;
  m.chunk_size = 512;
  m.write(folder / "two.gguf");
  std::string dat;  // the older form
  const auto number = [&dat](auto v) { dat.append(reinterpret_cast<const char*>(&v), sizeof v); };
  number(std::int32_t{1});
  number(std::int32_t{6});
  dat += "blk.0q";
  for (const std::int32_t n : {5, 4}) number(n);
  for (const float v : {5.0f, 10.0f, 15.0f, 20.0f}) number(v);
  for (const std::int32_t n : {5, 5}) number(n);
  put(folder / "older.dat", dat + "a.txt");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fputs("usage: fuzz-seeds FOLDER\n", stderr);
    return 2;
  }
  const std::filesystem::path folder = argv[1];
  for (const char* name : {"adapter", "gguf", "imatrix", "safetensors"}) std::filesystem::create_directories(folder / name);
  models(folder / "gguf");
  tensors(folder / "safetensors");
  adapters(folder / "adapter");
  importance(folder / "imatrix");
}
