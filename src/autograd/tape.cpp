// SPDX-License-Identifier: Apache-2.0
// Recording, and the walk back.
#include "hanzo/autograd/tape.hpp"

#include <algorithm>
#include <atomic>

#include "hanzo/autograd/record.hpp"
#include "hanzo/core/parallel.hpp"

namespace hz {
namespace {

thread_local Tape* active_tape = nullptr;

// Identities of computed values, over all tapes of the process: a value of another tape is below first_id_ of this one.
std::uint64_t take_ids(std::size_t n) {
  static std::atomic<std::uint64_t> next{1};
  return next.fetch_add(n, std::memory_order_relaxed);
}

}  // namespace

const Tensor& Saved::get() const {
  if (tensor_.defined() && tensor_.version() != version_)
    throw Error(ErrorKind::usage,
                "a tensor of " + to_string(tensor_.shape()) + " that the tape saved was changed in place before its gradient was taken", "",
                "call backward before updating variables, or clone() the tensor");
  return tensor_;
}

Tape::Tape(TapeOptions options) : options_(options), first_id_(take_ids(1)), outer_(active_tape) { active_tape = this; }
Tape::~Tape() { active_tape = outer_; }
Tape* Tape::active() { return active_tape; }

NoGrad::NoGrad() : former_(active_tape) { active_tape = nullptr; }
NoGrad::~NoGrad() { active_tape = former_; }

std::uint64_t Tape::record(Node node) {
  if (used_)
    throw Error(ErrorKind::usage, "[" + std::string(node.op) + "] the tape was used for backward already", "",
                "make another Tape for the next step");
  node.first_output = take_ids(node.shapes.size());
  const std::uint64_t id = node.first_output;
  if (keep_) nodes_.push_back(std::move(node));
  return id;
}

GradStore Tape::backward(const Tensor& loss) {
  if (!loss.defined() || loss.numel() != 1)
    throw Error(ErrorKind::usage,
                "[backward] wants a loss of one element" + (loss.defined() ? ", got " + to_string(loss.shape()) : std::string()));
  Tensor one = Tensor::empty(loss.shape(), DType::f32, loss.device());
  one.data<float>()[0] = 1.0f;
  return backward({&loss, 1}, {&one, 1});
}

GradStore Tape::backward(std::span<const Tensor> outputs, std::span<const Tensor> grads) {
  if (used_) throw Error(ErrorKind::usage, "[backward] the tape was used already", "", "make another Tape for the next step");
  if (outputs.size() != grads.size())
    throw Error(ErrorKind::usage,
                "[backward] " + std::to_string(outputs.size()) + " outputs with " + std::to_string(grads.size()) + " gradients");
  const IeeeMode mode;
  const NoGrad off;
  GradStore store;
  bool any = false;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const std::uint64_t id = outputs[i].grad_id();
    if (!grads[i].defined() || id == 0 || !wants(id)) continue;
    any = true;
    store.add(id, grads[i].with_grad_id(0));
  }
  if (!any)
    throw Error(ErrorKind::usage, "[backward] the loss does not depend on any variable of this tape", "",
                "compute it while the tape is in scope");
  used_ = true;
  while (!nodes_.empty()) {
    const Node node = std::move(nodes_.back());  // what it saved is freed after its turn
    nodes_.pop_back();
    Backward b(*this, node, store);
    bool reached = false;
    for (std::size_t i = 0; i < node.shapes.size(); ++i) {
      Tensor dy = store.take(node.first_output + i);
      if (dy.defined()) {
        reached = true;
        if (!dy.contiguous()) dy = dy.clone();
        if (!(dy.shape() == node.shapes[i])) dy = dy.reshape(node.shapes[i]);
      }
      b.dy_.push_back(std::move(dy));
    }
    if (reached) node.backward(b);
  }
  return store;
}

void Backward::give(std::size_t i, Tensor g) {
  if (g.defined() && wants(i)) grads_.add(node_.inputs[i], g.with_grad_id(0));
}
void Backward::give(const GradStore& others) { grads_.add(others); }

}  // namespace hz
