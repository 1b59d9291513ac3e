// SPDX-License-Identifier: Apache-2.0
// Interrupt: Ctrl-C (and SIGTERM) as a stop request; the second one ends the process at once.
#pragma once
#include <mutex>
#include <stop_token>
#include <thread>

namespace hz::tools {

// Installed once by run(). The signal handler only counts and writes to a pipe; a thread of its own turns that
// into a stop request, since stop_source may not be used in a handler.
class Interrupt {
 public:
  Interrupt();
  // Puts the former handlers back.
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  std::stop_token token() const;
  // Forgets a request that was answered, e.g. by ending one reply of a conversation; tokens taken before stay stopped.
  void reset();

  // The signal that asked for a stop, or 0. Usable anywhere, at once when the signal arrives.
  static int pending();

 private:
  void watch();

  mutable std::mutex mutex_;
  std::stop_source source_;
  int pipe_[2];
  std::thread watcher_;
};

}  // namespace hz::tools
