// SPDX-License-Identifier: Apache-2.0
// Sys: every system call that reading and writing files makes, in one table that fault tests can replace.
#pragma once
#include <sys/stat.h>
#include <sys/types.h>

#include <cstddef>

namespace hz::io {

// Each entry behaves as the POSIX call of its name: -1 (mmap: MAP_FAILED) and errno on failure.
struct Sys {
  int (*open)(const char* path, int flags, mode_t mode);
  int (*close)(int fd);
  int (*fstat)(int fd, struct stat* out);
  ssize_t (*pread)(int fd, void* out, std::size_t bytes, off_t offset);
  ssize_t (*write)(int fd, const void* bytes, std::size_t n);
  int (*fchmod)(int fd, mode_t mode);
  int (*fsync)(int fd);
  int (*rename)(const char* from, const char* to);
  int (*unlink)(const char* path);
  void* (*mmap)(void* at, std::size_t bytes, int protection, int flags, int fd, off_t offset);
  int (*munmap)(void* at, std::size_t bytes);
  int (*flock)(int fd, int operation);
};

// The table in use: the system's own, unless a test has put another in its place.
const Sys& sys();
// The system's calls, for a test's table to fall back to.
const Sys& real_sys();
// For fault tests alone; null brings the system's calls back. The table must outlive its use.
void replace_sys(const Sys* table);

// sys().open, begun again when a signal interrupts it.
int open_retrying(const char* path, int flags, mode_t mode = 0);
// fsync of a folder: 0, or errno. A file system that syncs no folders counts as done.
int sync_folder(const char* path);

}  // namespace hz::io
