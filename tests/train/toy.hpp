// SPDX-License-Identifier: Apache-2.0
// A model so small that a whole run takes milliseconds: the frequencies of tokens, with dropout of its gradient.
#pragma once
#include <cmath>
#include <functional>
#include <mutex>

#include "hanzo/autograd/record.hpp"
#include "hanzo/core/parallel.hpp"
#include "hanzo/train/trainer.hpp"

namespace hz::test {

class Toy : public train::Objective {
 public:
  static constexpr std::int64_t kVocab = 40;
  explicit Toy(bool dropout = false) : dropout_(dropout), w_(Tensor::zeros({kVocab}), "w"), v_(Tensor::zeros({kVocab}), "unused.lora_b") {}

  Tensor loss(std::span<const train::Example* const> documents, std::stop_token stop) override {
    if (before) before();
    if (stop.stop_requested()) throw Error(ErrorKind::cancelled, "stopped");
    const auto w = w_.tensor().span<const float>();
    double z = 0;
    for (const float x : w) z += std::exp(static_cast<double>(x));
    Tensor dw = Tensor::zeros({kVocab}), y = Tensor::empty({1});
    double sum = 0, n = 0;
    for (const train::Example* e : documents)
      for (const std::int32_t l : e->labels) {
        if (l == train::kIgnore) continue;
        sum += std::log(z) - static_cast<double>(w[static_cast<std::size_t>(l)]);
        dw.data<float>()[l] -= 1;
        n += 1;
      }
    for (std::int64_t i = 0; i < kVocab; ++i)
      dw.data<float>()[i] += static_cast<float>(n * std::exp(static_cast<double>(w[static_cast<std::size_t>(i)])) / z);
    y.data<float>()[0] = static_cast<float>(sum);
    if (Tape* tape = autograd::recording({w_.id()})) {
      if (dropout_)
        for (std::int64_t i = 0; i < kVocab; ++i)
          dw.data<float>()[i] *= uniform(tape->options().seed.value, 1, static_cast<std::uint64_t>(i)) < 0.3f ? 0.0f : 1.4f;
      autograd::record(tape, "toy", {w_.id()}, y, [dw, this](Backward& g) {
        if (back) parallel_for(2, 8, 1, [&](std::int64_t begin, std::int64_t) { back(begin); });
        g.give(0, dw);
      });
    }
    return y;
  }
  std::vector<Var> parameters() const override { return {w_, v_}; }
  const Tensor& w() const { return w_.tensor(); }

  std::function<void()> before;  // called at the start of each loss
  std::function<void(std::int64_t)> back;  // called by the pool for each of eight parts of each way back

 private:
  bool dropout_;
  Var w_, v_;
};

inline std::vector<train::Example> toy_examples(std::size_t n, std::uint64_t seed = 1) {
  std::vector<train::Example> all(n);
  for (std::size_t i = 0; i < n; ++i) {
    const std::size_t length = 2 + philox(seed, 1, i)[0] % 9;
    for (std::size_t j = 0; j < length; ++j) {
      const auto r = philox(seed, 2, i * 100 + j);
      all[i].ids.push_back(static_cast<std::int32_t>((r[0] % 8) * (r[1] % 5)));
      all[i].labels.push_back(j > 0 && (j == 1 || r[2] % 4 != 0) ? all[i].ids.back() : train::kIgnore);
    }
  }
  return all;
}

}  // namespace hz::test
