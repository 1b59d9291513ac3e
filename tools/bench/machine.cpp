// SPDX-License-Identifier: Apache-2.0
#include "tools/bench/machine.hpp"

#include <fmt/chrono.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <ctime>
#include <fstream>
#include <hanzo/core/parallel.hpp>

namespace hz::tools {
namespace {

// Calls take(tensor, share) for each weight that a token meets; share: of its bytes or products.
template <class Take>
void each_weight(const Model& model, Take&& take) {
  const bool tied = model.file().find("output.weight") == nullptr;
  for (const io::GgufTensor& t : model.file().tensors()) {
    if (t.name == "token_embd.weight" && !tied) continue;
    const bool expert = t.shape.rank() == 3 && model.hparams().experts > 0;
    take(t, expert ? static_cast<double>(model.hparams().experts_used) / model.hparams().experts : 1.0);
  }
}

}  // namespace

std::string cpu_name() {
  std::ifstream in("/proc/cpuinfo");
  for (std::string line; std::getline(in, line);)
    if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
  return "unknown";
}

std::string utc_time() {
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)));
}

std::uint64_t peak_memory() {
  rusage u{};
  ::getrusage(RUSAGE_SELF, &u);
  return static_cast<std::uint64_t>(u.ru_maxrss) * 1024;
}

double read_bandwidth(int threads) {
  using Clock = std::chrono::steady_clock;
  const std::size_t n = std::size_t{256} << 20;
  const Tensor block = Tensor::zeros({static_cast<std::int64_t>(n)}, DType::i8);
  const auto* p = block.data<std::int8_t>();
  double best = 0;
  std::atomic<bool> found{false};
  for (int i = 0; i < 5; ++i) {
    const auto begin = Clock::now();
    parallel(threads, [&](int part, int count) {
      const std::size_t a = n * static_cast<std::size_t>(part) / static_cast<std::size_t>(count),
                        b = n * static_cast<std::size_t>(part + 1) / static_cast<std::size_t>(count);
      if (std::memchr(p + a, 1, b - a) != nullptr) found = true;  // reads all: there are zeros alone
    });
    best = std::max(best, static_cast<double>(n) / std::chrono::duration<double>(Clock::now() - begin).count());
  }
  return found ? 0 : best;
}

std::uint64_t token_bytes(const Model& model) {
  double bytes = 0;
  each_weight(model, [&](const io::GgufTensor& t, double share) { bytes += share * static_cast<double>(t.nbytes); });
  return static_cast<std::uint64_t>(bytes);
}

double cache_bytes(const Model& model, std::int64_t first, std::int64_t count) {
  const model::KvSequence sequence = model.new_sequence();
  const model::PageLayout& page = sequence.layout();
  const model::HParams& h = model.hparams();
  double bytes = 0;
  for (std::size_t i = 0; i < page.layers.size(); ++i) {
    const std::size_t end = i + 1 < page.offsets.size() ? page.offsets[i + 1] : page.bytes;
    const bool slides = h.window > 0 && i < h.sliding.size() && h.sliding[i];
    std::int64_t seen = 0;
    for (std::int64_t p = first; p < first + count; ++p) seen += slides ? std::min(p + 1, h.window) : p + 1;
    bytes += static_cast<double>(seen) * static_cast<double>(end - page.offsets[i]) / kKvPage;
  }
  return count > 0 ? bytes / static_cast<double>(count) : 0;
}

double token_macs(const Model& model) {
  double macs = 0;
  each_weight(model, [&](const io::GgufTensor& t, double share) {
    if (t.shape.rank() >= 2 && t.name != "token_embd.weight" && t.name != "output.weight")
      macs += share * static_cast<double>(t.shape.numel());
  });
  return macs;
}

}  // namespace hz::tools
