// SPDX-License-Identifier: Apache-2.0
// Faults on demand: the n-th allocation or the n-th system call of one kind fails, once or from then on.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "hanzo/core/error.hpp"

namespace hz::test {

// While it lives, the n-th (from 1) operator new of this thread throws std::bad_alloc; later ones too if `persistent`.
class AllocationFault {
 public:
  explicit AllocationFault(std::int64_t n, bool persistent = false);
  ~AllocationFault();
  AllocationFault(const AllocationFault&) = delete;
  AllocationFault& operator=(const AllocationFault&) = delete;
  bool fired() const;
};
// Blocks of operator new that this program holds now.
std::int64_t live_allocations();

enum class Call { open, close, fstat, pread, write, fsync, rename, mmap };
constexpr Call kCalls[] = {Call::open, Call::close, Call::fstat, Call::pread, Call::write, Call::fsync, Call::rename, Call::mmap};
const char* name_of(Call call);

// While it lives, the n-th (from 1) `call` through io::sys() fails with `error`; 0: it reads or writes one byte less
// than asked, at least one (pread and write alone). Other calls work, but fsync, which does nothing. n = 0: no fault.
class SysFault {
 public:
  SysFault(Call call, std::int64_t n, int error);
  ~SysFault();
  SysFault(const SysFault&) = delete;
  SysFault& operator=(const SysFault&) = delete;
  bool fired() const;
};

// What one attempt ended with: "" when it succeeded, else kind and text of its error.
struct Attempt {
  bool fired = false, failed = false;
  std::int64_t leaked = 0;  // blocks of operator new that the action left behind
  bool foreign = false;  // an exception other than hz::Error (std::bad_alloc counts as clean)
  std::string error;
};
Attempt attempt(const std::function<void()>& action);
// Fails call 1, 2, ... of `action` until one attempt runs without meeting the fault, which must succeed; `after` runs
// after every attempt. Returns the number of attempts that met the fault. Throws when the faults never end.
std::int64_t with_each_allocation_failing(const std::function<void()>& action, const std::function<void(const Attempt&)>& after,
                                          bool persistent = false);
std::int64_t with_each_call_failing(Call call, int error, const std::function<void()>& action,
                                    const std::function<void(const Attempt&)>& after);

// Open file descriptors of this process.
std::size_t open_files();

}  // namespace hz::test
