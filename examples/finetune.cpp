// SPDX-License-Identifier: Apache-2.0
// Fine-tunes an adapter on chat, completion or text rows: the model that serves is the one that trains.
//   example-finetune MODEL.gguf DATA.jsonl ADAPTER [EPOCHS]      then: hz-run -m MODEL.gguf --lora ADAPTER
#include <fmt/format.h>
#include <hanzo/hanzo.hpp>

#include <cstdlib>
#include <vector>

namespace {

// labels[i] is token i where it is learned: what position i - 1 has to predict.
std::vector<std::int32_t> targets_of(const hz::train::Example& example) {
  std::vector<std::int32_t> targets(example.labels.begin() + 1, example.labels.end());
  targets.push_back(hz::train::kIgnore);
  return targets;
}

void finetune(const char* file, const char* rows, const char* folder, int epochs) {
  auto model = hz::Model::load(file);
  const auto adapter = hz::nn::attach_lora(model, {.rank = 16, .alpha = 32, .targets = "all-linear"}, hz::Seed{7});
  const auto data = hz::train::load_dataset(rows, hz::train::TextSide::from_gguf(model.file().metadata()), {.max_tokens = 512});
  hz::optim::AdamW optimizer(adapter.parameters(), {.lr = 2e-4});
  const auto n = static_cast<std::int64_t>(data.examples.size());
  for (int epoch = 0; epoch < epochs; ++epoch)
    for (const std::int32_t i : hz::train::epoch_order(7, epoch, n)) {
      const hz::train::Example& example = data.examples[static_cast<std::size_t>(i)];
      hz::Tape tape;  // records while in scope
      const auto loss = hz::nn::chunked_cross_entropy(model.hidden(example.ids), targets_of(example),
                                                      [&](const hz::Tensor& hidden) { return model.logits(hidden); });
      optimizer.step(tape.backward(loss));
      fmt::print("epoch {}  line {}  tokens {}  loss {:.4f}\n", epoch + 1, example.line, example.ids.size(), loss.item());
    }
  adapter.save(folder);
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc < 4) {
    fmt::print(stderr, "usage: {} MODEL.gguf DATA.jsonl ADAPTER [EPOCHS]\n", argv[0]);
    return 2;
  }
  finetune(argv[1], argv[2], argv[3], argc > 4 ? std::atoi(argv[4]) : 1);
} catch (const hz::Error& e) {
  fmt::print(stderr, "error: {} ({})\n", e.what(), e.where());
  return 1;
}
