// SPDX-License-Identifier: Apache-2.0
// HostBackend: what backends share whose tensors are bytes in the host's memory.
#pragma once
#include "hanzo/backend/backend.hpp"
#include "hanzo/core/memory.hpp"

namespace hz {

class HostBackend : public Backend {
 public:
  bool on_host() const override { return true; }
  std::shared_ptr<Storage> allocate(std::size_t bytes) override { return host_memory().allocate(bytes); }
  void copy(const Storage& from, std::size_t from_offset, Storage& to, std::size_t to_offset, std::size_t bytes) override {
    host_memory().copy(from, from_offset, to, to_offset, bytes);
  }
  void clear(Storage& to, std::size_t offset, std::size_t bytes) override { host_memory().clear(to, offset, bytes); }
  Capabilities capabilities() const override {
    return {.kv = {KvKind::f16, KvKind::f32, KvKind::q8_0}, .gradients = true, .free_memory = available_memory()};
  }
};

}  // namespace hz
