// SPDX-License-Identifier: Apache-2.0
// CustomOp: an op of your own, with its gradient. Any number of inputs and outputs.
#pragma once
#include <memory>
#include <span>
#include <vector>

#include "hanzo/autograd/record.hpp"

namespace hz {

using Tensors = std::vector<Tensor>;
using TensorSpan = std::span<const Tensor>;

// Derive, give forward and backward, call apply<Op>(inputs...). No tape records inside either of them.
class CustomOp {
 public:
  // What forward leaves for backward.
  class Ctx {
   public:
    void save(const Tensor& t) { saved_.emplace_back(t); }
    // In the order of save(). Throws usage when it was changed in place since, or was never saved.
    const Tensor& saved(std::size_t i) const;
    // In backward: whether the gradient of input i is wanted.
    bool needs_grad(std::size_t i) const { return wanted_.empty() || wanted_.at(i); }

   private:
    friend class CustomOp;
    std::vector<Saved> saved_;
    std::vector<bool> wanted_;
  };

  static constexpr int kOutputs = 1;  // hide it with another number where there are more

  virtual ~CustomOp() = default;
  virtual Tensors forward(Ctx& ctx, TensorSpan inputs) = 0;
  // dy: one for each output, zeros where none reached it. Returns one gradient for each input, of its shape; an undefined
  // tensor: none.
  virtual Tensors backward(Ctx& ctx, TensorSpan dy) = 0;

  // Runs the op and records it. Throws usage when backward returns another number of gradients, or other shapes.
  static Tensors run(std::shared_ptr<CustomOp> op, TensorSpan inputs);
};

// One output: the tensor. More (Op::kOutputs): all of them.
template <class Op>
auto apply(TensorSpan inputs) {
  Tensors y = CustomOp::run(std::make_shared<Op>(), inputs);
  if constexpr (Op::kOutputs == 1) return std::move(y.at(0));
  else return y;
}
template <class Op, class... In>
auto apply(const Tensor& first, const In&... more) {
  const Tensor inputs[] = {first, more...};
  return apply<Op>(TensorSpan(inputs));
}

}  // namespace hz
