// SPDX-License-Identifier: Apache-2.0
// Tape: records the ops of this thread while it is in scope, and walks them back for gradients.
#pragma once
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "hanzo/autograd/grad_store.hpp"
#include "hanzo/core/random.hpp"

namespace hz {

class Backward;

struct TapeOptions {
  // Blocks of a model keep only their input and are computed again for the gradient (same bits, scratch KV pages).
  bool checkpoint = true;
  // Of dropout masks: give every micro-batch of every step another one.
  Seed seed = {};
};

// Ops on values that need a gradient (variables, and what was computed from them) are recorded; others cost one branch.
// Tapes nest: the innermost records, and values of an outer tape are constants to it. One thread.
class Tape {
 public:
  explicit Tape(TapeOptions options = {});
  ~Tape();
  Tape(const Tape&) = delete;
  Tape& operator=(const Tape&) = delete;

  // Gradients of every variable that `loss`, one element, depends on. The records are used up.
  // Throws usage when loss does not depend on a variable, or something saved was changed in place.
  GradStore backward(const Tensor& loss);
  // The same for any outputs with their gradients (F32, the output's shape each; undefined: zero).
  GradStore backward(std::span<const Tensor> outputs, std::span<const Tensor> grads);

  const TapeOptions& options() const { return options_; }
  std::size_t size() const { return nodes_.size(); }  // ops recorded

  std::uint64_t serial() const { return first_id_; }  // of this tape alone in the process

  // For ops: the tape that records on this thread, or null.
  static Tape* active();
  // True when a gradient of the value with this identity is wanted from this tape.
  bool wants(std::uint64_t id) const { return (id & kLeafId) != 0 || id >= first_id_; }

  struct Node {
    std::string_view op;
    std::vector<std::uint64_t> inputs;
    std::vector<Shape> shapes;  // of the outputs
    std::uint64_t first_output = 0;
    std::function<void(Backward&)> backward;
  };
  // Returns the identity of the first output; the others follow it. See autograd/record.hpp.
  std::uint64_t record(Node node);

 private:
  friend class NoGrad;
  friend class WatchTape;

  TapeOptions options_;
  std::vector<Node> nodes_;
  std::uint64_t first_id_;
  Tape* outer_;
  bool keep_ = true;  // false: only follows what depends on what
  bool used_ = false;
};

// No tape records on this thread while it lives: evaluation within training.
class NoGrad {
 public:
  NoGrad();
  ~NoGrad();
  NoGrad(const NoGrad&) = delete;
  NoGrad& operator=(const NoGrad&) = delete;

 private:
  Tape* former_;
};

}  // namespace hz
