// SPDX-License-Identifier: Apache-2.0
// Gradients by identity, and variables.
#include "hanzo/autograd/grad_store.hpp"

#include <atomic>
#include <cstring>
#include <utility>
#include <vector>

#include "hanzo/backend/backend.hpp"

namespace hz {

Var::Var(const Tensor& value, std::string name) : name_(std::move(name)) {
  static std::atomic<std::uint64_t> next{1};
  if (!value.defined()) throw Error(ErrorKind::usage, "a variable needs a tensor");
  if (value.dtype() != DType::f32 && value.dtype() != DType::f16 && value.dtype() != DType::bf16)
    throw Error(ErrorKind::usage, "a variable of " + std::string(name_of(value.dtype())) + " cannot be trained", "",
                "use F32, F16 or BF16");
  value_ = value.with_grad_id(kLeafId | next.fetch_add(1, std::memory_order_relaxed));
}

void Var::assign(const Tensor& value) const {
  if (!(value.shape() == value_.shape()) || value.dtype() != value_.dtype())
    throw Error(ErrorKind::usage, "[assign] " + (name_.empty() ? std::string("a variable") : name_) + " is " +
                                      std::string(hz::name_of(value_.dtype())) + " " + to_string(value_.shape()) + ", got " +
                                      std::string(hz::name_of(value.dtype())) + " " + to_string(value.shape()));
  const Tensor dense = value.contiguous() ? value : value.clone();
  if (dense.numel() > 0) std::memmove(value_.raw(), dense.raw(), dense.nbytes());
  touch();
}

Tensor GradStore::get(std::uint64_t id) const {
  const auto it = grads_.find(id);
  return it == grads_.end() ? Tensor() : it->second;
}

void GradStore::add(std::uint64_t id, Tensor g) {
  if (!g.defined()) return;
  const auto [it, fresh] = grads_.try_emplace(id, g);
  if (fresh) return;
  Tensor& sum = it->second;
  if (sum.numel() != g.numel())
    throw Error(ErrorKind::usage, "[gradient] shapes " + to_string(sum.shape()) + " and " + to_string(g.shape()) + " of one value differ");
  if (!(sum.shape() == g.shape())) g = g.reshape(sum.shape());
  Backend& backend = backend_of(g);
  if (sum.storage().use_count() == 1) {  // nobody else reads it
    backend.axpy(1.0f, g, sum);
    return;
  }
  Tensor fresh_sum = Tensor::empty(sum.shape(), DType::f32, g.device());
  backend.add(sum, g, fresh_sum);
  sum = fresh_sum;
}

void GradStore::add(const GradStore& other) {
  for (const auto& [id, g] : other) add(id, g);
}

Tensor GradStore::take(std::uint64_t id) {
  const auto it = grads_.find(id);
  if (it == grads_.end()) return {};
  Tensor g = std::move(it->second);
  grads_.erase(it);
  return g;
}

void GradStore::scale(float s) {
  for (auto& [id, g] : grads_) {
    Tensor scaled = Tensor::empty(g.shape(), DType::f32, g.device());
    backend_of(g).scale(g, s, scaled);
    g = std::move(scaled);
  }
}

}  // namespace hz
