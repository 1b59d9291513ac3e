// SPDX-License-Identifier: Apache-2.0
// The replaced operator new of the test program, and tables of system calls that fail on demand.
#include "tests/faults.hpp"

#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <new>
#include <stdexcept>

#include "src/io/sys.hpp"

namespace {

struct AllocationState {
  std::int64_t left = 0;  // allocations until the fault; 0: none is wanted
  bool persistent = false, fired = false;
};
thread_local AllocationState allocation;
std::atomic<std::int64_t> live{0};

bool must_fail() {
  AllocationState& a = allocation;
  if (a.fired && a.persistent) return true;
  if (a.left == 0 || --a.left > 0) return false;
  a.fired = true;
  return true;
}

void* take(std::size_t bytes, std::size_t align) {
  if (must_fail()) return nullptr;
  const std::size_t n = bytes == 0 ? 1 : bytes;
  void* p = align <= alignof(std::max_align_t) ? std::malloc(n) : std::aligned_alloc(align, (n + align - 1) / align * align);
  if (p != nullptr) ++live;
  return p;
}
void give(void* p) noexcept {
  if (p == nullptr) return;
  --live;
  std::free(p);
}
void* take_or_throw(std::size_t bytes, std::size_t align = 0) {
  void* p = take(bytes, align);
  if (p == nullptr) throw std::bad_alloc();
  return p;
}

}  // namespace

void* operator new(std::size_t n) { return take_or_throw(n); }
void* operator new[](std::size_t n) { return take_or_throw(n); }
void* operator new(std::size_t n, std::align_val_t a) { return take_or_throw(n, static_cast<std::size_t>(a)); }
void* operator new[](std::size_t n, std::align_val_t a) { return take_or_throw(n, static_cast<std::size_t>(a)); }
void* operator new(std::size_t n, const std::nothrow_t&) noexcept { return take(n, 0); }
void* operator new[](std::size_t n, const std::nothrow_t&) noexcept { return take(n, 0); }
void* operator new(std::size_t n, std::align_val_t a, const std::nothrow_t&) noexcept { return take(n, static_cast<std::size_t>(a)); }
void* operator new[](std::size_t n, std::align_val_t a, const std::nothrow_t&) noexcept { return take(n, static_cast<std::size_t>(a)); }
void operator delete(void* p) noexcept { give(p); }
void operator delete[](void* p) noexcept { give(p); }
void operator delete(void* p, std::size_t) noexcept { give(p); }
void operator delete[](void* p, std::size_t) noexcept { give(p); }
void operator delete(void* p, std::align_val_t) noexcept { give(p); }
void operator delete[](void* p, std::align_val_t) noexcept { give(p); }
void operator delete(void* p, std::size_t, std::align_val_t) noexcept { give(p); }
void operator delete[](void* p, std::size_t, std::align_val_t) noexcept { give(p); }
void operator delete(void* p, const std::nothrow_t&) noexcept { give(p); }
void operator delete[](void* p, const std::nothrow_t&) noexcept { give(p); }

namespace hz::test {
namespace {

constexpr std::int64_t kMostAttempts = 100'000;

struct SysState {
  Call call{};
  std::int64_t left = 0;
  int error = 0;
  bool fired = false;
};
SysState state;

// True when this call must not do its work.
bool hit(Call call) {
  if (state.call != call || state.left == 0 || --state.left > 0) return false;
  state.fired = true;
  errno = state.error;
  return true;
}
std::size_t shorter(std::size_t n) { return n > 1 ? n - 1 : n; }

const io::Sys& real() { return io::real_sys(); }
int faulty_open(const char* p, int f, mode_t m) { return hit(Call::open) ? -1 : real().open(p, f, m); }
int faulty_close(int fd) {  // a failed close has closed its file all the same
  const bool fail = hit(Call::close);
  const int r = real().close(fd);
  if (fail) errno = state.error;
  return fail ? -1 : r;
}
int faulty_fstat(int fd, struct stat* s) { return hit(Call::fstat) ? -1 : real().fstat(fd, s); }
ssize_t faulty_pread(int fd, void* p, std::size_t n, off_t at) {
  if (!hit(Call::pread)) return real().pread(fd, p, n, at);
  return state.error == 0 ? real().pread(fd, p, shorter(n), at) : -1;
}
ssize_t faulty_write(int fd, const void* p, std::size_t n) {
  if (!hit(Call::write)) return real().write(fd, p, n);
  return state.error == 0 ? real().write(fd, p, shorter(n)) : -1;
}
int faulty_fsync(int) { return hit(Call::fsync) ? -1 : 0; }  // no test here cuts the power: spare the disk
int faulty_rename(const char* a, const char* b) { return hit(Call::rename) ? -1 : real().rename(a, b); }
void* faulty_mmap(void* at, std::size_t n, int prot, int flags, int fd, off_t offset) {
  return hit(Call::mmap) ? reinterpret_cast<void*>(-1) : real().mmap(at, n, prot, flags, fd, offset);
}

const io::Sys& faulty() {
  static const io::Sys table = [] {
    io::Sys t = real();
    t.open = &faulty_open;
    t.close = &faulty_close;
    t.fstat = &faulty_fstat;
    t.pread = &faulty_pread;
    t.write = &faulty_write;
    t.fsync = &faulty_fsync;
    t.rename = &faulty_rename;
    t.mmap = &faulty_mmap;
    return t;
  }();
  return table;
}

template <class MakeFault>
std::int64_t each(const std::function<void()>& action, const std::function<void(const Attempt&)>& after, MakeFault&& make) {
  for (std::int64_t n = 1; n < kMostAttempts; ++n) {
    Attempt a;
    {
      const auto fault = make(n);  // in place: nothing is allocated once it is armed
      a = attempt(action);
      a.fired = fault.fired();
    }
    after(a);
    if (!a.fired) return n - 1;
  }
  throw std::runtime_error("the faults do not end");
}

}  // namespace

AllocationFault::AllocationFault(std::int64_t n, bool persistent) { allocation = {n, persistent, false}; }
AllocationFault::~AllocationFault() { allocation = {}; }
bool AllocationFault::fired() const { return allocation.fired; }
std::int64_t live_allocations() { return live.load(); }

const char* name_of(Call call) {
  constexpr const char* names[] = {"open", "close", "fstat", "pread", "write", "fsync", "rename", "mmap"};
  return names[static_cast<std::size_t>(call)];
}

SysFault::SysFault(Call call, std::int64_t n, int error) {
  state = {call, n, error, false};
  io::replace_sys(&faulty());
}
SysFault::~SysFault() {
  io::replace_sys(nullptr);
  state = {};
}
bool SysFault::fired() const { return state.fired; }

Attempt attempt(const std::function<void()>& action) {
  Attempt a;
  const std::int64_t before = live_allocations();
  char text[200] = "";  // no allocation while allocations fail
  const auto note = [&](const char* s) {
    for (std::size_t i = 0; i + 1 < sizeof text && s[i] != '\0'; ++i) text[i] = s[i], text[i + 1] = '\0';
    a.failed = true;
  };
  try {
    action();
  } catch (const Error& e) {
    note(e.what());
  } catch (const std::bad_alloc& e) {
    note(e.what());
  } catch (const std::exception& e) {
    note(e.what());
    a.foreign = true;
  }
  const AllocationState saved = allocation;
  allocation = {};
  a.leaked = live_allocations() - before;
  a.error = text;
  allocation = saved;
  return a;
}

std::int64_t with_each_allocation_failing(const std::function<void()>& action, const std::function<void(const Attempt&)>& after,
                                          bool persistent) {
  const SysFault no_fsync(Call::fsync, 0, 0);
  return each(action, after, [&](std::int64_t n) { return AllocationFault(n, persistent); });
}

std::int64_t with_each_call_failing(Call call, int error, const std::function<void()>& action,
                                    const std::function<void(const Attempt&)>& after) {
  return each(action, after, [&](std::int64_t n) { return SysFault(call, n, error); });
}

std::size_t open_files() {
  std::size_t n = 0;
  for ([[maybe_unused]] const auto& e : std::filesystem::directory_iterator("/proc/self/fd")) ++n;
  return n;
}

}  // namespace hz::test
