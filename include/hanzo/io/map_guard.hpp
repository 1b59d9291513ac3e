// SPDX-License-Identifier: Apache-2.0
// MapGuard: a mapped file that is cut or fails to read becomes an error instead of the death of the process.
#pragma once

namespace hz::io {

// While one lives, SIGBUS inside the files that this library has mapped is answered by mapping zeros over the lost
// pages and noting the loss; any other SIGBUS goes to the handler that was there before. The signal handler is
// process-wide: programs hold a guard (the tools do), libraries do not. Guards may be nested; the last one to go
// restores the former handler. Without a guard, ReadMode::read is the safe mode.
class MapGuard {
 public:
  MapGuard();
  ~MapGuard();
  MapGuard(const MapGuard&) = delete;
  MapGuard& operator=(const MapGuard&) = delete;
};

// False once pages of a file that is still mapped were lost: results computed since may come from zeros.
bool intact() noexcept;
// Throws Error(io) naming such a file. Call it before a result leaves: its cost is one atomic load.
void check_intact();

}  // namespace hz::io
