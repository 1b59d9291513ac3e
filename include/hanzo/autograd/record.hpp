// SPDX-License-Identifier: Apache-2.0
// For writing ops: what is saved for a gradient, what the gradient sees, and recording it.
#pragma once
#include <initializer_list>
#include <string>
#include <utility>

#include "hanzo/autograd/tape.hpp"

namespace hz {

// A tensor kept for the gradient. get() throws usage when its elements were changed in place since.
class Saved {
 public:
  Saved() = default;
  Saved(const Tensor& t)  // NOLINT(google-explicit-constructor)
      : tensor_(t.defined() ? t.with_grad_id(0) : t), version_(t.defined() ? t.version() : 0) {}
  bool defined() const { return tensor_.defined(); }
  const Tensor& get() const;

 private:
  Tensor tensor_;
  std::uint32_t version_ = 0;
};

// One op on the way back: gradients of its outputs in, gradients of its inputs out.
class Backward {
 public:
  Backward(const Tape& tape, const Tape::Node& node, GradStore& grads) : tape_(tape), node_(node), grads_(grads) {}
  // Whether the gradient of input i is wanted. Compute nothing for those that are not.
  bool wants(std::size_t i) const { return tape_.wants(node_.inputs[i]); }
  // Gradient of output i, contiguous, in the output's shape; undefined where none reached it.
  const Tensor& dy(std::size_t i = 0) const { return dy_[i]; }
  // Adds to the gradient of input i. The tensor may be kept: do not write to it afterwards.
  void give(std::size_t i, Tensor g);
  // Gradients of variables that are no inputs of the op (a recomputed block's own).
  void give(const GradStore& others);

 private:
  friend class Tape;
  const Tape& tape_;
  const Tape::Node& node_;
  GradStore& grads_;
  std::vector<Tensor> dy_;
};

namespace autograd {

// Null when nothing has to be recorded for an op with these operands: no tape, or all are constants.
inline Tape* recording(std::initializer_list<std::uint64_t> ids) {
  Tape* tape = Tape::active();
  if (tape == nullptr) return nullptr;
  for (const std::uint64_t id : ids)
    if (id != 0 && tape->wants(id)) return tape;
  return nullptr;
}
inline std::uint64_t id_of(const Tensor& t) { return t.grad_id(); }

// Records an op with one output and gives `y` its identity. inputs: identities, 0 for constants.
template <class F>
void record(Tape* tape, std::string_view op, std::initializer_list<std::uint64_t> inputs, Tensor& y, F backward) {
  y = y.with_grad_id(tape->record({op, inputs, {y.shape()}, 0, std::move(backward)}));
}

}  // namespace autograd
}  // namespace hz
