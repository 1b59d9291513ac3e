// SPDX-License-Identifier: Apache-2.0
// The stub backend: compiles, supports nothing, says so. Copy this folder to begin a new backend.
#include "hanzo/backend/backend.hpp"

namespace hz {
namespace {

class StubBackend final : public Backend {
 public:
  std::string_view name() const override { return "stub"; }
  std::string description() const override { return "supports no op; the skeleton of a new backend"; }
};

}  // namespace

std::shared_ptr<Backend> make_stub(const BackendOptions&) { return std::make_shared<StubBackend>(); }

}  // namespace hz
