// SPDX-License-Identifier: Apache-2.0
// The thread pool: workers spin for some microseconds between regions, then sleep on a condition variable.
#include "hanzo/core/parallel.hpp"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <condition_variable>
#include <exception>
#include <fstream>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <utility>

#include "hanzo/core/error.hpp"
#include "src/core/stop_check.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace hz {
namespace {

constexpr int kSpins = 4000;  // about 40 us of pauses: longer than the serial gaps inside a layer

void relax() {
#if defined(__x86_64__)
  _mm_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// One call of parallel(): `threads` parts, each run once by whoever claims it first.
struct Region {
  FunctionRef<void(int, int)> body;
  int threads;
};

// Logical CPUs that this process may run on, at least 1.
int allowed_cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof set, &set) != 0) return static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  return std::max(1, CPU_COUNT(&set));
}

class Pool {
  static constexpr int kMostParts = 4095;
  // Number of a region, its parts and how many helpers it wants, in one word: a late worker can never pair one
  // region's number with another's counts.
  struct Call {
    std::uint64_t word = 0;
    Call() = default;
    Call(std::uint64_t number, int parts, int helpers)
        : word(number << 24 | static_cast<std::uint64_t>(parts) << 12 | static_cast<std::uint64_t>(helpers)) {}
    std::uint64_t number() const { return word >> 24; }
    int parts() const { return static_cast<int>(word >> 12 & 4095); }
    int helpers() const { return static_cast<int>(word & 4095); }
    friend bool operator==(Call, Call) = default;
  };

 public:
  // The pool of this process. Never destroyed: parked threads may outlive static destruction. A forked child
  // has no workers, and its copies of the locks may be held for ever: it starts a pool of its own.
  static Pool& instance() {
    static std::atomic<Pool*> current{nullptr};
    static const int registered = ::pthread_atfork(nullptr, nullptr, [] { current.store(nullptr, std::memory_order_relaxed); });
    static_cast<void>(registered);
    Pool* pool = current.load(std::memory_order_acquire);
    if (pool != nullptr) return *pool;
    auto made = std::make_unique<Pool>();
    if (current.compare_exchange_strong(pool, made.get(), std::memory_order_acq_rel)) pool = made.release();
    return *pool;
  }

  void run(int threads, FunctionRef<void(int, int)> body) {
    const Claim claim(busy_);
    const int parts = std::min(threads, kMostParts);
    const int helpers = claim.held ? grow(std::min(parts - 1, most_workers_)) : 0;
    if (helpers <= 0) {
      body(0, 1);
      return;
    }
    const IeeeMode mode;  // whoever runs a part, the caller too, computes alike
    Region region{body, parts};
    error_ = nullptr;
    pending_.store(parts, std::memory_order_relaxed);
    region_.store(&region, std::memory_order_relaxed);
    const Call call{epoch_.load(std::memory_order_relaxed).number() + 1, parts, helpers};
    epoch_.store(call, std::memory_order_seq_cst);
    if (sleepers_.load(std::memory_order_seq_cst) > 0) {
      const std::lock_guard lock(sleep_mutex_);
      wake_.notify_all();
    }
    work_on(call, 0);
    // Every part was claimed: what is left runs on other threads. A helper that wakes late finds nothing to claim.
    for (int spin = 0; pending_.load(std::memory_order_acquire) > 0; ++spin) {
      if (spin < kSpins) relax();
      else std::this_thread::yield();
    }
    if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
  }

 private:
  // The pool serves one region at a time. No mutex: a nested region asks from the thread that holds the claim.
  struct Claim {
    explicit Claim(std::atomic<bool>& busy) : flag(busy), held(!busy.exchange(true, std::memory_order_acquire)) {}
    ~Claim() {
      if (held) flag.store(false, std::memory_order_release);
    }
    Claim(const Claim&) = delete;
    Claim& operator=(const Claim&) = delete;
    std::atomic<bool>& flag;
    const bool held;
  };

  // Makes up to `want` workers exist; returns how many do (at most want).
  int grow(int want) {
    while (workers_ < want) {
      try {
        std::thread([this, id = workers_, seen = epoch_.load()] { work(id, seen); }).detach();
        ++workers_;
      } catch (...) {
        break;  // the system refuses another thread: run with what there is
      }
    }
    return std::min(want, workers_);
  }

  void work(int id, Call seen) {
    const IeeeMode mode;
    for (;;) {
      wait_for_change(seen);
      seen = epoch_.load(std::memory_order_acquire);
      if (id < seen.helpers()) work_on(seen, id + 1);
    }
  }

  // Runs part `first` and then whatever parts nobody has begun (part 0 is the caller's). The region lives for as long
  // as one of its parts is unclaimed or running, so it is looked at only after a claim succeeded.
  void work_on(Call call, int first) {
    if (claim_part(call, first)) run_part(first);
    for (int part = 1; part < call.parts(); ++part)
      if (claim_part(call, part)) run_part(part);
  }

  // True for the one thread that may run this part.
  bool claim_part(Call call, int part) {
    std::atomic<std::uint64_t>& last = claimed_[static_cast<std::size_t>(part)];
    std::uint64_t seen = last.load(std::memory_order_relaxed);
    return seen < call.number() && last.compare_exchange_strong(seen, call.number(), std::memory_order_acq_rel);
  }

  void run_part(int part) {
    Region* region = region_.load(std::memory_order_relaxed);
    try {
      region->body(part, region->threads);
    } catch (...) {
      keep_error();
    }
    pending_.fetch_sub(1, std::memory_order_release);
  }

  void wait_for_change(Call seen) {
    for (int spin = 0; spin < kSpins; ++spin) {
      if (epoch_.load(std::memory_order_acquire) != seen) return;
      relax();
    }
    std::unique_lock lock(sleep_mutex_);
    sleepers_.fetch_add(1, std::memory_order_seq_cst);
    wake_.wait(lock, [&] { return epoch_.load(std::memory_order_seq_cst) != seen; });
    sleepers_.fetch_sub(1, std::memory_order_relaxed);
  }

  void keep_error() {
    const std::lock_guard lock(error_mutex_);
    if (!error_) error_ = std::current_exception();
  }

  std::atomic<bool> busy_{false};
  std::mutex sleep_mutex_, error_mutex_;
  std::condition_variable wake_;
  int workers_ = 0;  // guarded by busy_
  const int most_workers_ = std::max(1, allowed_cpus());  // more would only take turns; the parts are run all the same
  std::array<std::atomic<std::uint64_t>, kMostParts + 1> claimed_{};  // number of the region that claimed each part last
  std::exception_ptr error_;
  std::atomic<Region*> region_{nullptr};
  std::atomic<int> sleepers_{0};
  alignas(64) std::atomic<Call> epoch_{};
  alignas(64) std::atomic<int> pending_{0};
};

// CPUs of the cgroup's quota (v2 cpu.max, then v1), or a large number without one.
int quota_cpus() {
  long quota = -1, period = 0;
  if (std::ifstream max("/sys/fs/cgroup/cpu.max"); max) {
    std::string first;
    if (max >> first >> period && first != "max") quota = std::strtol(first.c_str(), nullptr, 10);
  } else {
    std::ifstream q("/sys/fs/cgroup/cpu/cpu.cfs_quota_us"), p("/sys/fs/cgroup/cpu/cpu.cfs_period_us");
    if (!(q >> quota && p >> period)) quota = -1;
  }
  if (quota <= 0 || period <= 0) return 1 << 20;
  return static_cast<int>(std::max(1L, (quota + period - 1) / period));
}

// Physical cores among the CPUs this process may run on.
int allowed_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof set, &set) != 0) return static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  std::set<std::string> cores;
  int cpus = 0;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &set)) continue;
    ++cpus;
    std::ifstream f("/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/topology/thread_siblings_list");
    std::string siblings;
    if (f >> siblings) cores.insert(siblings);
  }
  return std::max(1, cores.empty() ? cpus : static_cast<int>(cores.size()));
}

}  // namespace

int default_threads() { return std::min(allowed_cores(), quota_cpus()); }

namespace {
thread_local const std::stop_token* scope_stop = nullptr;
}

StopScope::StopScope(std::stop_token stop) : stop_(std::move(stop)), outer_(std::exchange(scope_stop, &stop_)) {}
StopScope::~StopScope() { scope_stop = outer_; }

void check_stop_scope() {
  if (scope_stop != nullptr && scope_stop->stop_requested()) throw Error(ErrorKind::cancelled, "stopped");
}

void parallel(int threads, FunctionRef<void(int, int)> body) {
  if (threads <= 1) {
    body(0, 1);
    return;
  }
  Pool::instance().run(threads, body);
}

void parallel_for(int threads, std::int64_t n, std::int64_t grain, FunctionRef<void(std::int64_t, std::int64_t)> body) {
  if (n <= 0) return;
  const std::int64_t step = std::max<std::int64_t>(grain, 1);
  const std::int64_t chunks = (n - 1) / step + 1;
  const std::stop_token* stop = scope_stop;
  std::atomic<std::int64_t> next{0};
  parallel(static_cast<int>(std::min<std::int64_t>(threads, chunks)), [&](int, int) {
    for (std::int64_t c; (c = next.fetch_add(1, std::memory_order_relaxed)) < chunks;) {
      if (stop != nullptr && stop->stop_requested()) throw Error(ErrorKind::cancelled, "stopped");
      body(c * step, c * step + std::min(step, n - c * step));
    }
  });
}

#if defined(__x86_64__)
IeeeMode::IeeeMode() : saved_(_mm_getcsr()) { _mm_setcsr((static_cast<unsigned>(saved_) & ~0xE040u) | 0x1F80u); }
IeeeMode::~IeeeMode() { _mm_setcsr(static_cast<unsigned>(saved_)); }
#elif defined(__aarch64__)
IeeeMode::IeeeMode() {
  asm volatile("mrs %0, fpcr" : "=r"(saved_));
  asm volatile("msr fpcr, %0" ::"r"(std::uint64_t{0}));  // nearest even, no flush, IEEE halves, NaN kept, no traps
}
IeeeMode::~IeeeMode() { asm volatile("msr fpcr, %0" ::"r"(saved_)); }
#else
IeeeMode::IeeeMode() : saved_(0) {}
IeeeMode::~IeeeMode() = default;
#endif

}  // namespace hz
