// SPDX-License-Identifier: Apache-2.0
// The stub backend: compiles, supports nothing, says so. Copy this folder to begin a new backend. A backend in host memory
// derives from HostBackend (src/backend/host.hpp) and begins with the ops; one with a memory of its own begins here.
#include "hanzo/backend/backend.hpp"

namespace hz {
namespace {

class StubBackend final : public Backend {
 public:
  std::string_view name() const override { return "stub"; }
  std::string description() const override { return "supports no op; the skeleton of a new backend"; }
  // Grows with the ops: a KV kind once kv_write and attention have it, gradients once all of them are there.
  Capabilities capabilities() const override { return {}; }

  // Memory: the first thing to build. Everything below, and every op, is an error until it is overridden.
  bool on_host() const override { return false; }
  std::shared_ptr<Storage> allocate(std::size_t bytes) override { return Backend::allocate(bytes); }
  void copy(const Storage& from, std::size_t from_offset, Storage& to, std::size_t to_offset, std::size_t bytes) override {
    Backend::copy(from, from_offset, to, to_offset, bytes);
  }
  void clear(Storage& to, std::size_t offset, std::size_t bytes) override { Backend::clear(to, offset, bytes); }
};

}  // namespace

std::shared_ptr<Backend> make_stub(const BackendOptions&) { return std::make_shared<StubBackend>(); }

}  // namespace hz
