// SPDX-License-Identifier: Apache-2.0
// Var: a tensor that is trained. Copies are the same variable; optimizers update its elements in place.
#pragma once
#include <string>

#include "hanzo/core/tensor.hpp"

namespace hz {

// Leaves of a tape carry this bit in their identity; values computed under a tape do not.
constexpr std::uint64_t kLeafId = std::uint64_t{1} << 63;

class Var {
 public:
  Var() = default;
  // Shares the tensor's storage. name: dotted and stable ("blk.0.attn_q.lora_a"), or empty.
  explicit Var(const Tensor& value, std::string name = {});

  bool defined() const { return value_.defined(); }
  const std::string& name() const { return name_; }
  std::uint64_t id() const { return value_.grad_id(); }
  // The value; ops on it are recorded by an active tape.
  const Tensor& tensor() const { return value_; }
  operator const Tensor&() const { return value_; }  // NOLINT(google-explicit-constructor)
  const Shape& shape() const { return value_.shape(); }

  // Copies the elements of `value` (same shape and element type) over this variable's and calls touch().
  void assign(const Tensor& value) const;
  // Call after writing through tensor().data(): tapes that saved the old elements refuse to use them.
  void touch() const { value_.touch(); }

 private:
  Tensor value_;
  std::string name_;
};

}  // namespace hz
