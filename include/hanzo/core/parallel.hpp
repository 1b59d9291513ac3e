// SPDX-License-Identifier: Apache-2.0
// parallel: one pool of threads, spinning briefly and then parked; results never depend on its size.
#pragma once
#include <cstdint>
#include <memory>
#include <stop_token>
#include <type_traits>

namespace hz {

// min(physical cores, CPU affinity, cgroup quota), at least 1.
int default_threads();

// A non-owning reference to a callable; valid while the callable lives.
template <class Signature>
class FunctionRef;
template <class R, class... Args>
class FunctionRef<R(Args...)> {
 public:
  template <class F, class = std::enable_if_t<!std::is_same_v<std::remove_cvref_t<F>, FunctionRef>>>
  FunctionRef(F&& f)  // NOLINT(google-explicit-constructor)
      : object_(const_cast<void*>(static_cast<const void*>(std::addressof(f)))),
        call_([](void* o, Args... args) -> R { return (*static_cast<std::remove_reference_t<F>*>(o))(args...); }) {}
  R operator()(Args... args) const { return call_(object_, args...); }

 private:
  void* object_;
  R (*call_)(void*, Args...);
};

// Runs body(part, threads) once for each part in [0, threads), part 0 on the caller, and waits for all. When the pool
// is busy with another caller's work, or cannot start a thread, there is one part: `threads` as passed to the body says
// how many there are. No more threads run at a time than the process has CPUs; parts whose thread has not begun are
// taken by those that have, so a busy machine never waits for a sleeper. An exception in the body is rethrown here
// after all have ended.
void parallel(int threads, FunctionRef<void(int thread, int threads)> body);

// Splits [0, n) into chunks of `grain` that idle threads take in turn; body(begin, end).
void parallel_for(int threads, std::int64_t n, std::int64_t grain,
                  FunctionRef<void(std::int64_t begin, std::int64_t end)> body);

// While it lives, parallel_for called from this thread takes no further chunk once `stop` was asked for, and throws
// Error(cancelled): long work on the pool ends within one chunk.
class StopScope {
 public:
  explicit StopScope(std::stop_token stop);
  ~StopScope();
  StopScope(const StopScope&) = delete;
  StopScope& operator=(const StopScope&) = delete;

 private:
  const std::stop_token stop_;
  const std::stop_token* outer_;
};

// Nearest-even rounding, no flush to zero, for as long as it lives; the former mode comes back after.
class IeeeMode {
 public:
  IeeeMode();
  ~IeeeMode();
  IeeeMode(const IeeeMode&) = delete;
  IeeeMode& operator=(const IeeeMode&) = delete;

 private:
  std::uint64_t saved_;
};

}  // namespace hz
