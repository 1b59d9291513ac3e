// SPDX-License-Identifier: Apache-2.0
// Device: the name of where a tensor lives and which backend computes on it.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace hz {

class Backend;
struct Storage;

// Where the bytes of tensors and of the KV cache are. The host's memory is one; a backend may bring its own.
class DeviceMemory {
 public:
  virtual ~DeviceMemory() = default;
  // Whether the CPU can address what allocate() gives.
  virtual bool on_host() const = 0;
  // Uninitialised bytes, 64-byte aligned. Throws out_of_memory.
  virtual std::shared_ptr<Storage> allocate(std::size_t bytes) = 0;
  // From a storage of this memory or of the host's to another of either; they do not overlap. Comes after all work that was
  // asked for before, and is done when it returns.
  virtual void copy(const Storage& from, std::size_t from_offset, Storage& to, std::size_t to_offset, std::size_t bytes) = 0;
  // Zeros, likewise.
  virtual void clear(Storage& to, std::size_t offset, std::size_t bytes) = 0;
};

// The memory that the CPU addresses: the caching arena (core/tensor.hpp).
DeviceMemory& host_memory();

// A light handle to a backend instance. The default device is host memory with no backend bound:
// tensors made there can be read and written, and ops on them run on the backend of their other operands.
class Device {
 public:
  Device() = default;
  Device(Backend* backend, DeviceMemory* memory) : backend_(backend), memory_(memory) {}
  Backend* backend() const { return backend_; }
  DeviceMemory& memory() const { return memory_ != nullptr ? *memory_ : host_memory(); }
  friend bool operator==(const Device&, const Device&) = default;

 private:
  Backend* backend_ = nullptr;  // not owned; backends live as long as the registry entry or Model that made them
  DeviceMemory* memory_ = nullptr;
};

}  // namespace hz
