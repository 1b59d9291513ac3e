// SPDX-License-Identifier: Apache-2.0
// A tiny random model with a byte-level tokenizer and a ChatML template, as GGUF.
#pragma once
#include <filesystem>
#include <optional>

#include "tests/model/tiny_model.hpp"
#include "tests/text/synthetic.hpp"

namespace hz::test {

inline constexpr const char* kChatMl =
    "{% for m in messages %}{{ '<|im_start|>' + m['role'] + '\n' + m['content'] + '<|im_end|>' + '\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}";

// Ids as small_bpe() has them: <|im_start|> 0, <|im_end|> 1, <|endoftext|> 2. The file's EOS is `eos`.
inline void write_tiny_chat(const std::filesystem::path& file, std::uint32_t eos = 1, const std::string& chat_template = kChatMl,
                            TinySpec spec = {.type = WType::q4_0, .tied = true}, bool add_bos = false,
                            std::optional<std::uint32_t> pad = {}) {
  const VocabBuilder vocab = small_bpe();
  spec.vocab = static_cast<std::int64_t>(vocab.texts.size());
  TinyModel model(spec);
  io::Metadata& m = model.writer().metadata();
  const io::Metadata tokens = vocab.metadata("gpt2", "smollm");
  for (const auto& [key, value] : tokens.entries()) m.set(key, value);
  set_id(m, "tokenizer.ggml.eos_token_id", eos);
  set_id(m, "tokenizer.ggml.bos_token_id", 0);
  set_bool(m, "tokenizer.ggml.add_bos_token", add_bos);
  if (pad) set_id(m, "tokenizer.ggml.padding_token_id", *pad);
  if (!chat_template.empty()) set_string(m, "tokenizer.chat_template", chat_template);
  model.write(file);
}

}  // namespace hz::test
