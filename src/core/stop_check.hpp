// SPDX-License-Identifier: Apache-2.0
// StopCheck: long loops on one thread that a StopScope ends.
#pragma once
#include <cstdint>

namespace hz {

// Throws Error(cancelled) once the stop of this thread's innermost StopScope was asked for.
void check_stop_scope();

// For loops of short turns: looks every 1024 of them.
class StopCheck {
 public:
  void operator()() {
    if (++turns_ % 1024 == 0) check_stop_scope();
  }

 private:
  std::uint32_t turns_ = 0;
};

}  // namespace hz
