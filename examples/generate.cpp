// SPDX-License-Identifier: Apache-2.0
// Answers a question with a model from a GGUF file, piece by piece.
#include <fmt/format.h>
#include <hanzo/hanzo.hpp>

int main(int argc, char** argv) try {
  auto model = hz::Model::load(argc > 1 ? argv[1] : "smollm2.gguf", {.device = "cpu"});
  hz::Generator gen(model);
  for (const auto& piece : gen.chat({{"user", "Why is the sky blue?"}}, {.max_tokens = 64, .temperature = 0}))
    fmt::print("{}", piece.text);
} catch (const hz::Error& e) {
  fmt::print(stderr, "error: {} ({})\n", e.what(), e.where());
  return 1;
}
