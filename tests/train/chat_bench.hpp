// SPDX-License-Identifier: Apache-2.0
// A tiny chat model, twelve rows that teach it to answer, and options for a run over them.
#pragma once
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>

#include "hanzo/train/sft.hpp"
#include "tests/model/tiny_chat.hpp"
#include "tests/temp_dir.hpp"
#include "tests/train/text_side.hpp"

namespace hz::test {

inline std::string bytes_of(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

inline std::string talk(const std::string& question, const std::string& answer) {
  return nlohmann::json{{"messages", {{{"role", "user"}, {"content", question}}, {{"role", "assistant"}, {"content", answer}}}}}.dump() +
         "\n";
}

struct ChatBench {
  TempDir dir;
  explicit ChatBench(WType type) {
    write_tiny_chat(path("m.gguf"), 1, kChatMl, {.type = type, .tied = true});
    std::string rows;
    for (int i = 0; i < 12; ++i) rows += talk("hello " + std::to_string(i % 4), "world " + std::to_string(i % 4));
    put_text(path("d.jsonl"), rows);
  }
  std::filesystem::path path(const std::string& name) const { return dir.path() / name; }
  // Three epochs of two steps, micro-batches of two rows.
  train::SftOptions run_options(const std::string& out) const {
    train::SftOptions o;
    o.model = path("m.gguf");
    o.data = path("d.jsonl");
    o.out = path(out);
    o.train.epochs = 3;
    o.train.accumulate = 3;
    o.train.micro_batch = 2;
    o.train.seed = 5;
    o.rows.max_tokens = 64;
    return o;
  }
};

}  // namespace hz::test
