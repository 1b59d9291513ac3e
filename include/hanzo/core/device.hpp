// SPDX-License-Identifier: Apache-2.0
// Device: the name of where a tensor lives and which backend computes on it.
#pragma once
#include <cstdint>
#include <string>

namespace hz {

class Backend;

// A light handle to a backend instance. The default device is host memory with no backend bound:
// tensors made there can be read and written, and ops on them run on the backend of their other operands.
class Device {
 public:
  Device() = default;
  explicit Device(Backend* backend) : backend_(backend) {}
  Backend* backend() const { return backend_; }
  friend bool operator==(const Device&, const Device&) = default;

 private:
  Backend* backend_ = nullptr;  // not owned; backends live as long as the registry entry or Model that made them
};

}  // namespace hz
