// SPDX-License-Identifier: Apache-2.0
// A training step of an adapter, by phases: tokens per second, and the peak of memory. Arguments: MODEL [TOKENS [STEPS [THREADS [keep]]]];
// keep: without checkpointing.
#include <fmt/format.h>

#include <chrono>
#include <cstdlib>
#include <hanzo/hanzo.hpp>
#include <string>
#include <vector>

namespace {

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

void run(const char* file, std::int64_t tokens, int steps, int threads, bool keep) {
  auto model = hz::Model::load(file, {.threads = threads});
  const auto adapter = hz::nn::attach_lora(model, {.rank = 16, .alpha = 32}, hz::Seed{7});
  hz::optim::AdamW optimizer(adapter.parameters(), {.lr = 2e-4});
  std::vector<std::int32_t> ids;
  for (std::int64_t i = 0; i < tokens; ++i)
    ids.push_back(
        static_cast<std::int32_t>(hz::philox(1, 0, static_cast<std::uint64_t>(i))[0] % static_cast<std::uint64_t>(model.hparams().vocab)));
  std::vector<std::int32_t> targets(ids.begin() + 1, ids.end());
  targets.push_back(-100);
  for (int i = 0; i < steps; ++i) {
    const double begin = now();
    hz::Tape tape({.checkpoint = !keep});
    const hz::Tensor hidden = model.hidden(ids);
    const double forward = now();
    const hz::Tensor loss = hz::nn::chunked_cross_entropy(hidden, targets, [&](const hz::Tensor& rows) { return model.logits(rows); });
    const double head = now();
    const hz::GradStore grads = tape.backward(loss);
    const double backward = now();
    optimizer.step(grads);
    const double end = now();
    fmt::print("loss {:.4f}  {:7.1f} tokens/s  forward {:.3f} s  head {:.3f} s  backward {:.3f} s  step {:.3f} s  peak {} MB\n",
               loss.item(), static_cast<double>(tokens) / (end - begin), forward - begin, head - forward, backward - head, end - backward,
               hz::train::peak_resident_bytes() / 1000000);
  }
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc < 2) {
    fmt::print(stderr, "usage: hz-bench-training MODEL [TOKENS [STEPS [THREADS [keep]]]]\n");
    return 2;
  }
  const auto number = [&](int i, int fallback) { return argc > i ? std::atoi(argv[i]) : fallback; };
  run(argv[1], number(2, 512), number(3, 3), number(4, 0), argc > 5 && std::string(argv[5]) == "keep");
} catch (const hz::Error& e) {
  fmt::print(stderr, "error: {} ({})\n", e.what(), e.where());
  return 1;
}
