// SPDX-License-Identifier: Apache-2.0
// A checkpointed part: watched on the way forward, recorded and walked back on the way back.
#include "hanzo/autograd/checkpoint.hpp"

namespace hz {

// Follows which values depend on variables; keeps nothing.
class WatchTape {
 public:
  explicit WatchTape(const TapeOptions& options) : tape_(options) { tape_.keep_ = false; }

 private:
  Tape tape_;
};

namespace {

// The inputs as leaves of a tape of their own, where the outer tape wants their gradients.
std::vector<Tensor> as_leaves(std::span<const Saved> saved, const std::vector<bool>& wanted) {
  std::vector<Tensor> leaves;
  for (std::size_t i = 0; i < saved.size(); ++i) {
    const Tensor& t = saved[i].get();
    leaves.push_back(wanted[i] ? Var(t).tensor() : t);
  }
  return leaves;
}

}  // namespace

std::vector<Tensor> checkpoint(const CheckpointBody& f, std::span<const Tensor> inputs) {
  Tape* tape = Tape::active();
  if (tape == nullptr) return f(inputs, false);
  const TapeOptions options = tape->options();
  std::vector<Saved> saved;
  std::vector<bool> wanted;
  std::vector<std::uint64_t> ids;
  for (const Tensor& t : inputs) {
    saved.emplace_back(t);
    wanted.push_back(t.defined() && t.grad_id() != 0 && tape->wants(t.grad_id()));
    ids.push_back(t.defined() ? t.grad_id() : 0);
  }
  std::vector<Tensor> outputs;
  {
    const WatchTape watch(options);
    outputs = f(as_leaves(saved, wanted), false);
  }
  bool any = false;
  std::vector<Shape> shapes;
  for (const Tensor& y : outputs) {
    any |= y.grad_id() != 0;
    shapes.push_back(y.shape());
  }
  if (!any) return outputs;
  auto backward = [f, saved, wanted, options](Backward& b) {
    const std::vector<Tensor> leaves = as_leaves(saved, wanted);
    GradStore grads;
    {
      Tape inner(options);
      const std::vector<Tensor> again = f(leaves, true);
      std::vector<Tensor> dy;
      for (std::size_t i = 0; i < again.size(); ++i) dy.push_back(b.dy(i));
      grads = inner.backward(again, dy);
    }
    for (std::size_t i = 0; i < leaves.size(); ++i)
      if (wanted[i]) b.give(i, grads.take(leaves[i].grad_id()));
    b.give(grads);
  };
  std::uint64_t id = tape->record({"checkpoint", std::move(ids), std::move(shapes), 0, std::move(backward)});
  for (Tensor& y : outputs) y = y.with_grad_id(id++);
  return outputs;
}

}  // namespace hz
