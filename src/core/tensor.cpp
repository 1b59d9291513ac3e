// SPDX-License-Identifier: Apache-2.0
// Tensor: construction and views.
#include "hanzo/core/tensor.hpp"

#include <algorithm>
#include <cstring>

#include "hanzo/core/checked.hpp"

namespace hz {
namespace {

Shape row_major(const Shape& shape) {
  Shape strides = shape;
  std::int64_t step = 1;
  for (int i = shape.rank() - 1; i >= 0; --i) {
    strides[i] = step;
    step *= std::max<std::int64_t>(shape[i], 1);
  }
  return strides;
}

template <class T>
Tensor from_values(std::span<const T> values, const Shape& shape) {
  if (static_cast<std::int64_t>(values.size()) != shape.numel())
    throw Error(ErrorKind::usage, "[from] " + std::to_string(values.size()) + " values for a shape of " + to_string(shape));
  Tensor t = Tensor::empty(shape, dtype_of<T>::value);
  std::copy(values.begin(), values.end(), t.data<T>());
  return t;
}

// Copies a strided tensor element by element into dense memory; `dim` counts from the outside.
void copy_strided(const Tensor& t, int dim, const std::byte* from, std::byte*& to) {
  const std::size_t size = size_of(t.dtype());
  if (dim == t.rank()) {
    std::memcpy(to, from, size);
    to += size;
    return;
  }
  for (std::int64_t i = 0; i < t.size(dim); ++i)
    copy_strided(t, dim + 1, from + static_cast<std::size_t>(i * t.stride(dim)) * size, to);
}

}  // namespace

Tensor::Tensor(std::shared_ptr<Storage> storage, std::size_t byte_offset, const Shape& shape, DType dtype, Device device)
    : storage_(std::move(storage)), byte_offset_(byte_offset), shape_(shape), strides_(row_major(shape)), dtype_(dtype), device_(device) {
  const Checked end = Checked(byte_offset) + Checked(shape.numel()) * Checked(size_of(dtype));
  if (!(end <= storage_->bytes)) throw Error(ErrorKind::usage, "a tensor of " + to_string(shape) + " does not fit its storage");
}

Tensor Tensor::empty(const Shape& shape, DType dtype, Device device) {
  const auto bytes = (Checked(shape.numel()) * Checked(size_of(dtype))).get();
  if (!bytes) throw Error(ErrorKind::out_of_memory, "a tensor of " + to_string(shape));
  return {device.memory().allocate(*bytes), 0, shape, dtype, device};
}

Tensor Tensor::zeros(const Shape& shape, DType dtype, Device device) {
  Tensor t = empty(shape, dtype, device);
  device.memory().clear(*t.storage_, 0, t.nbytes());
  return t;
}

Tensor Tensor::from(std::span<const float> values, const Shape& shape) { return from_values(values, shape); }
Tensor Tensor::from(std::span<const std::int32_t> values, const Shape& shape) { return from_values(values, shape); }

bool Tensor::contiguous() const {
  const Shape dense = row_major(shape_);
  for (int i = 0; i < rank(); ++i)
    if (shape_[i] > 1 && strides_[i] != dense[i]) return false;
  return true;
}

Tensor Tensor::on(Device device) const {
  if (defined() && storage_->host != device.memory().on_host())
    throw Error(ErrorKind::usage, "[on] the tensor's bytes are not in the device's memory: copy it with to()");
  Tensor t = *this;
  t.device_ = device;
  return t;
}

Tensor Tensor::to(Device device) const {
  DeviceMemory& there = device.memory();
  if (&there == &device_.memory() || (storage_->host && there.on_host())) return on(device);
  check_contiguous();
  Tensor t = empty(shape_, dtype_, device);
  DeviceMemory& worker = there.on_host() ? device_.memory() : there;
  worker.copy(*storage_, byte_offset_, *t.storage_, 0, nbytes());
  return t;
}

float Tensor::item() const {
  if (numel() != 1) throw Error(ErrorKind::usage, "[item] wants one element, the tensor is " + to_string(shape_));
  return *to({}).data<float>();
}

Tensor Tensor::reshape(const Shape& shape) const {
  if (shape.numel() != numel()) throw Error(ErrorKind::usage, "[reshape] " + to_string(shape_) + " to " + to_string(shape));
  check_contiguous();
  Tensor t = *this;
  t.shape_ = shape;
  t.strides_ = row_major(shape);
  return t;
}

Tensor Tensor::slice(int dim, std::int64_t begin, std::int64_t end) const {
  const int d = dim < 0 ? dim + rank() : dim;
  if (d < 0 || d >= rank() || begin < 0 || begin > end || end > shape_[d])
    throw Error(ErrorKind::usage, "[slice] " + std::to_string(begin) + ":" + std::to_string(end) + " along dimension " +
                                      std::to_string(dim) + " of " + to_string(shape_));
  Tensor t = *this;
  t.byte_offset_ += static_cast<std::size_t>(begin * strides_[d]) * size_of(dtype_);
  t.shape_[d] = end - begin;
  t.grad_id_ = 0;
  return t;
}

Tensor Tensor::transpose(int a, int b) const {
  for (const int d : {a, b})
    if (d < -rank() || d >= rank())
      throw Error(ErrorKind::usage, "[transpose] dimension " + std::to_string(d) + " of " + to_string(shape_));
  Tensor t = *this;
  std::swap(t.shape_[a], t.shape_[b]);
  std::swap(t.strides_[a], t.strides_[b]);
  t.grad_id_ = 0;
  return t;
}

Tensor Tensor::clone() const {
  Tensor t = empty(shape_, dtype_, device_);
  if (numel() == 0) return t;
  if (contiguous()) {
    device_.memory().copy(*storage_, byte_offset_, *t.storage_, 0, nbytes());
  } else if (!storage_->host) {
    check_contiguous();
  } else {
    std::byte* to = t.raw();
    copy_strided(*this, 0, raw(), to);
  }
  return t;
}

Tensor Tensor::with_grad_id(std::uint64_t id) const {
  Tensor t = *this;
  t.grad_id_ = id;
  return t;
}

void Tensor::check_access(DType want) const {
  if (!defined()) throw Error(ErrorKind::usage, "an undefined tensor was read");
  if (!storage_->host) throw Error(ErrorKind::usage, "the tensor lives on a device: copy it to the host first, with to({})");
  if (want != dtype_)
    throw Error(ErrorKind::usage, "the tensor holds " + std::string(name_of(dtype_)) + ", read as " + std::string(name_of(want)));
}

void Tensor::check_contiguous() const {
  if (!contiguous())
    throw Error(ErrorKind::usage, "a strided view of " + to_string(shape_) + " was used where dense memory is needed: clone() it");
}

}  // namespace hz
