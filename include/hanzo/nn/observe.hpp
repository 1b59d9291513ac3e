// SPDX-License-Identifier: Apache-2.0
// Observer: sees the input of every product with a weight matrix while a forward pass runs, for statistics.
#pragma once
#include <cstdint>
#include <span>
#include <string>

#include "hanzo/core/tensor.hpp"

namespace hz::nn {

class Observer {
 public:
  virtual ~Observer() = default;
  // x: F32 [tokens, in], the input of the weight of that name.
  virtual void see(const std::string& weight, const Tensor& x) = 0;
  // Row x_rows[i] of x goes to expert experts[i] of `count`.
  virtual void see_experts(const std::string& weight, std::int64_t count, const Tensor& x, std::span<const std::int32_t> x_rows,
                           std::span<const std::int32_t> experts) = 0;
};

// While one lives, products of this thread's forward passes show their inputs to the observer; results stay the same
// bits. Without one, a product costs one branch more.
class ObserveScope {
 public:
  explicit ObserveScope(Observer& observer);
  ~ObserveScope();
  ObserveScope(const ObserveScope&) = delete;
  ObserveScope& operator=(const ObserveScope&) = delete;

 private:
  Observer* outer_;
};
Observer* current_observer();

}  // namespace hz::nn
