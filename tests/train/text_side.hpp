// SPDX-License-Identifier: Apache-2.0
// A small vocabulary with a ChatML template, for tests of training.
#pragma once
#include <fstream>
#include <string>

#include "hanzo/train/dataset.hpp"
#include "tests/model/tiny_chat.hpp"
#include "tests/text/synthetic.hpp"

namespace hz::test {

// Metadata of the small vocabulary: EOS <|im_end|>; pad is the same token. bos: <|im_start|> goes before every text.
inline io::Metadata small_text(bool bos = false) {
  io::Metadata m = small_bpe().metadata("gpt2", "smollm");
  set_id(m, "tokenizer.ggml.eos_token_id", 1);
  set_id(m, "tokenizer.ggml.padding_token_id", 1);
  set_id(m, "tokenizer.ggml.bos_token_id", 2);
  set_bool(m, "tokenizer.ggml.add_bos_token", bos);
  return m;
}

inline train::TextSide small_text_side(const char* chat = kChatMl, bool bos = false) {
  io::Metadata m = small_text(bos);
  if (chat != nullptr) set_string(m, "tokenizer.chat_template", chat);
  return train::TextSide::from_gguf(m);
}

inline void put_text(const std::filesystem::path& file, const std::string& bytes) { std::ofstream(file, std::ios::binary) << bytes; }

}  // namespace hz::test
