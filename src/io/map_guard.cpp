// SPDX-License-Identifier: Apache-2.0
// The handler reads a list that only grows: nodes are reused, never freed, and published through atomics.
#include "hanzo/io/map_guard.hpp"

#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <mutex>
#include <string>
#include <system_error>

#include "hanzo/core/error.hpp"
#include "src/io/mapped_range.hpp"
#include "src/io/message.hpp"

namespace hz::io {

struct MappedRange {
  std::atomic<std::uintptr_t> begin{0}, end{0};  // 0, 0: free
  std::atomic<bool> lost{false};
  std::string name;  // not for the handler
  MappedRange* next = nullptr;
};

namespace {

std::mutex mutex;  // over names, free nodes and the guards' count
std::atomic<MappedRange*> ranges{nullptr};
std::atomic<int> lost_ranges{0};
int guards = 0;
struct sigaction former {};
std::uintptr_t page_bytes = 4096;

static_assert(std::atomic<std::uintptr_t>::is_always_lock_free && std::atomic<bool>::is_always_lock_free, "used in a signal handler");

MappedRange* range_of(std::uintptr_t address) {
  for (MappedRange* r = ranges.load(std::memory_order_acquire); r != nullptr; r = r->next)
    if (const auto begin = r->begin.load(std::memory_order_acquire); begin != 0 && address >= begin && address < r->end.load()) return r;
  return nullptr;
}

// Zeros from the faulting page to the end of its file: one fault and one mapping, however much was cut off.
bool patch(const siginfo_t& info) {
  if (info.si_code <= 0) return false;  // sent by a process, not by a fault
  const auto address = reinterpret_cast<std::uintptr_t>(info.si_addr);
  MappedRange* r = range_of(address);
  if (r == nullptr) return false;
  const std::uintptr_t page = address / page_bytes * page_bytes;
  void* at = reinterpret_cast<void*>(page);  // NOLINT(performance-no-int-to-ptr)
  if (::mmap(at, r->end.load() - page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED) return false;
  if (!r->lost.exchange(true)) lost_ranges.fetch_add(1);
  return true;
}

void forward(int number, siginfo_t* info, void* context) {
  if (former.sa_flags & SA_SIGINFO) return former.sa_sigaction(number, info, context);
  if (former.sa_handler == SIG_IGN && info->si_code <= 0) return;
  if (former.sa_handler != SIG_DFL && former.sa_handler != SIG_IGN) return former.sa_handler(number);
  (void)::signal(number, SIG_DFL);
  (void)::raise(number);  // delivered when this handler returns
}

void on_bus_error(int number, siginfo_t* info, void* context) {
  const int error = errno;
  if (!patch(*info)) forward(number, info, context);
  errno = error;
}

}  // namespace

MappedRange* add_mapped_range(void* at, std::size_t bytes, const std::filesystem::path& file) {
  std::string name = shown(file);
  const std::lock_guard lock(mutex);
  MappedRange* r = ranges.load();
  while (r != nullptr && r->end.load() != 0) r = r->next;
  if (r == nullptr) {
    r = new MappedRange;
    r->next = ranges.load();
    ranges.store(r, std::memory_order_release);
  }
  r->name = std::move(name);
  r->lost = false;
  const auto begin = reinterpret_cast<std::uintptr_t>(at);
  r->end = begin + bytes;
  r->begin.store(begin, std::memory_order_release);
  return r;
}

void remove_mapped_range(MappedRange* range) noexcept {
  const std::lock_guard lock(mutex);
  range->begin = 0;
  range->end = 0;
  if (range->lost.exchange(false)) lost_ranges.fetch_sub(1);
}

MapGuard::MapGuard() {
  const std::lock_guard lock(mutex);
  if (guards++ > 0) return;
  page_bytes = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  struct sigaction action {};
  action.sa_sigaction = &on_bus_error;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART;
  ::sigemptyset(&action.sa_mask);
  if (::sigaction(SIGBUS, &action, &former) == 0) return;
  --guards;
  throw Error(ErrorKind::failed, "cannot set a handler for SIGBUS: " + std::string(std::generic_category().message(errno)));
}

MapGuard::~MapGuard() {
  const std::lock_guard lock(mutex);
  if (--guards > 0) return;
  struct sigaction now {};
  if (::sigaction(SIGBUS, nullptr, &now) == 0 && (now.sa_flags & SA_SIGINFO) && now.sa_sigaction == &on_bus_error)
    ::sigaction(SIGBUS, &former, nullptr);  // unless another handler came since
}

bool intact() noexcept { return lost_ranges.load(std::memory_order_acquire) == 0; }

void check_intact() {
  if (intact()) return;
  const std::lock_guard lock(mutex);
  for (const MappedRange* r = ranges.load(); r != nullptr; r = r->next)
    if (r->end.load() != 0 && r->lost.load())
      throw Error(ErrorKind::io, "the file was cut or could not be read while it was in use", r->name,
                  "do not change a model while it is loaded; load it again");
}

}  // namespace hz::io
