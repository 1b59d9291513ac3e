// SPDX-License-Identifier: Apache-2.0
// Progress: a stop request becomes an error.
#include "hanzo/core/progress.hpp"

#include "hanzo/core/error.hpp"

namespace hz {

void Progress::check(std::string_view stage) const {
  if (stop.stop_requested()) throw Error(ErrorKind::cancelled, "stopped during " + std::string(stage));
}

}  // namespace hz
