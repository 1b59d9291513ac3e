// SPDX-License-Identifier: Apache-2.0
#include "hanzo/core/memory.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <string>

namespace hz {
namespace {

constexpr std::uint64_t kUnknown = std::numeric_limits<std::uint64_t>::max();

// The number behind `key` in a file of "key number" lines.
std::uint64_t keyed(const char* file, const std::string& key) {
  std::ifstream in(file);
  std::string word;
  for (std::uint64_t value = 0; in >> word;) {
    if (word == key) return in >> value ? value : kUnknown;
    in.ignore(std::numeric_limits<std::streamsize>::max(), '\n');
  }
  return kUnknown;
}

std::uint64_t number(const char* file) {
  std::ifstream in(file);
  std::uint64_t value = 0;
  return in >> value ? value : kUnknown;
}

std::uint64_t minus(std::uint64_t a, std::uint64_t b) { return a > b ? a - b : 0; }

std::uint64_t left_in_group(const char* limit_file, const char* usage_file, const char* stat_file, const char* file_key) {
  const std::uint64_t limit = number(limit_file), used = number(usage_file);
  if (limit == kUnknown || used == kUnknown || limit > std::uint64_t{1} << 60) return kUnknown;
  const std::uint64_t cached = keyed(stat_file, file_key);
  return minus(limit, cached == kUnknown ? used : minus(used, cached));
}

std::uint64_t left_of_address_space() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return kUnknown;
  const std::uint64_t pages = number("/proc/self/statm");
  return pages == kUnknown ? kUnknown : minus(limit.rlim_cur, pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)));
}

}  // namespace

std::uint64_t available_memory() {
  const std::uint64_t kilobytes = keyed("/proc/meminfo", "MemAvailable:");
  return std::min(
      {kilobytes == kUnknown ? kUnknown : kilobytes * 1024,
       left_in_group("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current", "/sys/fs/cgroup/memory.stat", "inactive_file"),
       left_in_group("/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory/memory.usage_in_bytes",
                     "/sys/fs/cgroup/memory/memory.stat", "total_inactive_file"),
       left_of_address_space()});
}

}  // namespace hz
