// SPDX-License-Identifier: Apache-2.0
// Running and recording a user's op.
#include "hanzo/autograd/custom_op.hpp"

namespace hz {

const Tensor& CustomOp::Ctx::saved(std::size_t i) const {
  if (i >= saved_.size())
    throw Error(ErrorKind::usage,
                "[custom op] backward asks for saved tensor " + std::to_string(i) + " of " + std::to_string(saved_.size()));
  return saved_[i].get();
}

Tensors CustomOp::run(std::shared_ptr<CustomOp> op, TensorSpan inputs) {
  auto ctx = std::make_shared<Ctx>();
  Tensors y;
  {
    const NoGrad off;
    y = op->forward(*ctx, inputs);
  }
  Tape* tape = Tape::active();
  std::vector<std::uint64_t> ids;
  std::vector<Shape> in_shapes, out_shapes;
  bool any = false;
  for (const Tensor& t : inputs) {
    const std::uint64_t id = t.defined() ? t.grad_id() : 0;
    ids.push_back(id);
    in_shapes.push_back(t.shape());
    any |= tape != nullptr && id != 0 && tape->wants(id);
  }
  for (Tensor& t : y) {
    if (!t.defined()) throw Error(ErrorKind::usage, "[custom op] forward returned an undefined tensor");
    out_shapes.push_back(t.shape());
    t = t.with_grad_id(0);
  }
  if (!any) return y;
  const Device device = y.empty() ? Device() : y[0].device();
  auto backward = [op, ctx, in_shapes, out_shapes, device](Backward& b) {
    Tensors dy;
    for (std::size_t i = 0; i < out_shapes.size(); ++i)
      dy.push_back(b.dy(i).defined() ? b.dy(i) : Tensor::zeros(out_shapes[i], DType::f32, device));
    ctx->wanted_.assign(in_shapes.size(), false);
    for (std::size_t i = 0; i < in_shapes.size(); ++i) ctx->wanted_[i] = b.wants(i);
    const Tensors dx = op->backward(*ctx, dy);
    if (dx.size() != in_shapes.size())
      throw Error(ErrorKind::usage, "[custom op] backward returned " + std::to_string(dx.size()) + " gradients for " +
                                        std::to_string(in_shapes.size()) + " inputs");
    for (std::size_t i = 0; i < dx.size(); ++i) {
      if (!dx[i].defined() || !b.wants(i)) continue;
      if (!(dx[i].shape() == in_shapes[i]))
        throw Error(ErrorKind::usage, "[custom op] the gradient of input " + std::to_string(i) + " is " + to_string(dx[i].shape()) +
                                          ", the input " + to_string(in_shapes[i]));
      b.give(i, dx[i]);
    }
  };
  std::uint64_t id = tape->record({"custom", std::move(ids), std::move(out_shapes), 0, std::move(backward)});
  for (Tensor& t : y) t = t.with_grad_id(id++);
  return y;
}

}  // namespace hz
