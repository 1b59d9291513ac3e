// SPDX-License-Identifier: Apache-2.0
// What the fuzz targets share. A target may throw hz::Error for input it refuses; anything else that leaves it is a
// finding, and so are aborts, sanitizer reports, time-outs and memory beyond the limit (scripts/fuzz.sh).
#pragma once
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "hanzo/core/error.hpp"

namespace hz::fuzz {

// Runs `body`; errors of the library are its answer, not a finding.
template <class Body>
int guarded(Body&& body) {
  try {
    body();
  } catch (const Error&) {  // refused
  }
  return 0;
}

// A file in memory that has a path.
class MemoryFile {
 public:
  explicit MemoryFile(std::span<const std::uint8_t> bytes) : fd_(::memfd_create("fuzz", MFD_CLOEXEC)) {
    if (fd_ < 0) std::abort();
    for (std::size_t at = 0; at < bytes.size();) {
      const ssize_t n = ::write(fd_, bytes.data() + at, bytes.size() - at);
      if (n <= 0) std::abort();
      at += static_cast<std::size_t>(n);
    }
  }
  ~MemoryFile() { ::close(fd_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  std::filesystem::path path() const { return "/proc/self/fd/" + std::to_string(fd_); }

 private:
  int fd_;
};

// Takes numbers from the input, front to back; zeros when it is used up.
class Input {
 public:
  Input(const std::uint8_t* data, std::size_t size) : text_(reinterpret_cast<const char*>(data), size) {}
  std::uint8_t byte() {
    if (text_.empty()) return 0;
    const auto b = static_cast<std::uint8_t>(text_[0]);
    text_.remove_prefix(1);
    return b;
  }
  std::size_t below(std::size_t n) { return n == 0 ? 0 : (byte() | static_cast<std::size_t>(byte()) << 8) % n; }
  // Up to the next NUL byte, or all that is left.
  std::string_view line() {
    const std::size_t end = text_.find('\0');
    const std::string_view s = text_.substr(0, end);
    text_.remove_prefix(end == std::string_view::npos ? text_.size() : end + 1);
    return s;
  }
  std::string_view rest() const { return text_; }

 private:
  std::string_view text_;
};

// For invariants: a false one is a finding.
inline void require(bool holds) {
  if (!holds) std::abort();
}

}  // namespace hz::fuzz
