// SPDX-License-Identifier: Apache-2.0
// GradStore: gradients by variable. What tape.backward() returns and optimizers read.
#pragma once
#include <unordered_map>

#include "hanzo/autograd/var.hpp"

namespace hz {

class GradStore {
 public:
  bool empty() const { return grads_.empty(); }
  std::size_t size() const { return grads_.size(); }
  // The gradient of `v`, F32 of its shape; an undefined tensor where none reached it.
  Tensor operator[](const Var& v) const { return get(v.id()); }
  Tensor get(std::uint64_t id) const;
  bool contains(const Var& v) const { return grads_.contains(v.id()); }

  // Adds `g` to what is there. The first gradient of an identity is kept as it is, sharing its storage.
  void add(std::uint64_t id, Tensor g);
  void add(const Var& v, Tensor g) { add(v.id(), std::move(g)); }
  // Accumulates another step's gradients: micro-batches.
  void add(const GradStore& other);
  // Removes and returns.
  Tensor take(std::uint64_t id);
  // Multiplies every gradient.
  void scale(float s);

  auto begin() const { return grads_.begin(); }  // pairs (identity, gradient), in no order
  auto end() const { return grads_.end(); }

 private:
  std::unordered_map<std::uint64_t, Tensor> grads_;
};

}  // namespace hz
