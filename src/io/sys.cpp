// SPDX-License-Identifier: Apache-2.0
// The system's own calls behind the Sys table.
#include "src/io/sys.hpp"

#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>

namespace hz::io {
namespace {

int real_open(const char* path, int flags, mode_t mode) { return ::open(path, flags, mode); }

constexpr Sys kReal{&real_open, &::close,  &::fstat, &::pread,  &::write, &::fchmod,
                    &::fsync,   &::rename, &::unlink, &::mmap, &::munmap, &::flock};
std::atomic<const Sys*> current{&kReal};

}  // namespace

const Sys& sys() { return *current.load(std::memory_order_acquire); }
const Sys& real_sys() { return kReal; }
void replace_sys(const Sys* table) { current.store(table != nullptr ? table : &kReal, std::memory_order_release); }

int open_retrying(const char* path, int flags, mode_t mode) {
  for (;;) {
    const int fd = sys().open(path, flags, mode);
    if (fd >= 0 || errno != EINTR) return fd;
  }
}

int sync_folder(const char* path) {
  const int fd = open_retrying(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return errno;
  const int error = sys().fsync(fd) != 0 && errno != EINVAL && errno != ENOTSUP ? errno : 0;
  sys().close(fd);
  return error;
}

}  // namespace hz::io
