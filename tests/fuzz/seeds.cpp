// SPDX-License-Identifier: Apache-2.0
// fuzz-seeds FOLDER: writes the seeds that are files of ours (models, safetensors); the texts are kept as they are.
#include <cstdio>

#include "hanzo/io/safetensors.hpp"
#include "tests/model/tiny_model.hpp"
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
  tiny = {.layers = 1, .hidden = 32, .ff = 32, .vocab = 24, .context = 32, .heads = 2, .kv_heads = 1, .head_dim = 16, .type = WType::q8_0, .experts = 2, .experts_used = 1};
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

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fputs("usage: fuzz-seeds FOLDER\n", stderr);
    return 2;
  }
  const std::filesystem::path folder = argv[1];
  for (const char* name : {"gguf", "safetensors"}) std::filesystem::create_directories(folder / name);
  models(folder / "gguf");
  tensors(folder / "safetensors");
}
