// SPDX-License-Identifier: Apache-2.0
// Tensor: shared storage, shape, strides, element type. A small value; copies share the bytes.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <type_traits>

#include "hanzo/core/device.hpp"
#include "hanzo/core/dtype.hpp"
#include "hanzo/core/error.hpp"
#include "hanzo/core/shape.hpp"

namespace hz {

// A run of bytes with whoever keeps it alive. `host` is false for memory the CPU cannot address.
struct Storage {
  std::byte* data = nullptr;
  std::size_t bytes = 0;
  bool host = true;
  bool mapped = false;  // pages of a file, which the system may drop and read again
  std::uint32_t version = 0;  // counts changes in place (Tensor::touch)
  std::shared_ptr<void> owner;
};

class Tensor {
 public:
  Tensor() = default;
  // Uninitialised, 64-byte aligned memory of the device. Throws out_of_memory.
  static Tensor empty(const Shape& shape, DType dtype = DType::f32, Device device = {});
  static Tensor zeros(const Shape& shape, DType dtype = DType::f32, Device device = {});
  static Tensor from(std::span<const float> values, const Shape& shape);
  static Tensor from(std::span<const std::int32_t> values, const Shape& shape);
  // A dense row-major view of existing storage.
  Tensor(std::shared_ptr<Storage> storage, std::size_t byte_offset, const Shape& shape, DType dtype, Device device);

  bool defined() const { return storage_ != nullptr; }
  explicit operator bool() const { return defined(); }
  const Shape& shape() const { return shape_; }
  int rank() const { return shape_.rank(); }
  std::int64_t size(int dim) const { return shape_[dim]; }
  std::int64_t numel() const { return shape_.numel(); }
  std::int64_t rows() const { return shape_.rows(); }
  std::int64_t cols() const { return shape_.back(); }
  // Distance in elements between neighbours along `dim`.
  std::int64_t stride(int dim) const { return strides_[dim]; }
  bool contiguous() const;
  DType dtype() const { return dtype_; }
  Device device() const { return device_; }
  Tensor on(Device device) const;  // the same bytes, computed on by another backend of the same memory
  // The same values in the memory of `device`: on(device) where that is theirs already, else a dense copy, which is a
  // constant to a tape. to({}) is how the host reads what a device computed.
  Tensor to(Device device) const;
  std::size_t byte_offset() const { return byte_offset_; }  // of the first element in the storage
  std::size_t nbytes() const { return static_cast<std::size_t>(numel()) * size_of(dtype_); }

  // First element. Rows are `stride(-2)` elements apart.
  std::byte* raw() const { return storage_->data + byte_offset_; }
  template <class T>
  T* data() const {
    check_access(dtype_of<std::remove_const_t<T>>::value);
    return reinterpret_cast<T*>(raw());
  }
  // All elements of a contiguous tensor.
  template <class T>
  std::span<T> span() const {
    check_contiguous();
    return {data<T>(), static_cast<std::size_t>(numel())};
  }
  float item() const;  // the value of a one-element F32 tensor

  // Views; never copy. Throw usage when the view does not exist. A reshaped view keeps the identity under a tape; a part
  // (slice, row, transpose) is a constant to it: hz::slice_rows and hz::pick_rows pass gradients.
  Tensor reshape(const Shape& shape) const;
  Tensor slice(int dim, std::int64_t begin, std::int64_t end) const;
  Tensor row(std::int64_t i) const { return slice(0, i, i + 1); }
  Tensor transpose(int a, int b) const;
  Tensor clone() const;  // a contiguous copy of its own

  // Identity under an active tape: 0 is a constant, anything else a value whose gradient is wanted.
  // Set by autograd alone; core only carries it.
  std::uint64_t grad_id() const { return grad_id_; }
  Tensor with_grad_id(std::uint64_t id) const;
  // Call after elements were written in place: a tape that saved them for a gradient then refuses to use them.
  void touch() const { ++storage_->version; }
  std::uint32_t version() const { return storage_->version; }
  const std::shared_ptr<Storage>& storage() const { return storage_; }

 private:
  void check_access(DType want) const;
  void check_contiguous() const;

  std::shared_ptr<Storage> storage_;
  std::size_t byte_offset_ = 0;
  Shape shape_, strides_;
  DType dtype_ = DType::f32;
  Device device_;
  std::uint64_t grad_id_ = 0;
};

// Host storage from the caching arena: 64-byte aligned, freed blocks are kept for reuse by size class. What is kept is
// bounded: blocks in use and kept ones together never pass by more than a quarter and 64 MiB what was once in use at a time.
std::shared_ptr<Storage> allocate_host(std::size_t bytes);
// Gives all cached blocks back to the system; returns the bytes released. The bound is then taken from what is in use now.
std::size_t trim_host_arena();

}  // namespace hz
