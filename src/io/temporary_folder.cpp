// SPDX-License-Identifier: Apache-2.0
#include "src/io/temporary_folder.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <string>
#include <string_view>

#include "src/io/message.hpp"
#include "src/io/sys.hpp"

namespace hz::io {
namespace {

constexpr int kNameTries = 10000;
constexpr std::string_view kBegin = ".hanzo-", kEnd = ".tmp";

bool is_temporary(std::string_view name) {
  if (!name.starts_with(kBegin) || !name.ends_with(kEnd) || name.size() < kBegin.size() + kEnd.size()) return false;
  name = name.substr(kBegin.size(), name.size() - kBegin.size() - kEnd.size());
  return std::all_of(name.begin(), name.end(), [](char c) { return (c >= '0' && c <= '9') || c == '-'; });
}

// Calls each(name) for what lies in the folder. Not directory_iterator, which ends the program when it gets no memory.
template <class Each>
void each_name(const std::filesystem::path& folder, Each each) {
  const std::unique_ptr<DIR, int (*)(DIR*)> listing(::opendir(folder.c_str()), &::closedir);
  while (const dirent* entry = listing ? ::readdir(listing.get()) : nullptr)
    if (std::string_view(entry->d_name) != "." && std::string_view(entry->d_name) != "..") each(entry->d_name);
}

// A file, or a folder with what is in it; folders deeper than any of ours stay.
void remove_tree(const std::filesystem::path& path, int depth = 4) {
  if (sys().unlink(path.c_str()) == 0 || (errno != EISDIR && errno != EPERM) || depth == 0) return;
  each_name(path, [&](const char* name) { remove_tree(path / name, depth - 1); });
  ::rmdir(path.c_str());
}

}  // namespace

std::filesystem::path temporary_name(const std::filesystem::path& folder, int number) {
  return folder / (std::string(kBegin) + std::to_string(::getpid()) + "-" + std::to_string(number) + std::string(kEnd));
}

void remove_stale(const std::filesystem::path& folder) {
  each_name(folder, [&](const char* name) {
    if (!is_temporary(name)) return;
    const auto path = folder / name;
    const int fd = open_retrying(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0) return;
    if (sys().flock(fd, LOCK_EX | LOCK_NB) == 0) remove_tree(path);
    sys().close(fd);
  });
}

// True when the new folder is ours: locked, or on a file system without locks, and not taken for a stale one before it was.
bool TemporaryFolder::claim() {
  fd_ = open_retrying(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
  if (fd_ < 0) return false;
  struct stat st {};
  if ((sys().flock(fd_, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) && sys().fstat(fd_, &st) == 0 && st.st_nlink > 0) return true;
  sys().close(fd_);
  fd_ = -1;
  return false;
}

TemporaryFolder::TemporaryFolder(const std::filesystem::path& parent) {
  const auto folder = parent.empty() ? std::filesystem::path(".") : parent;
  remove_stale(folder);
  for (int i = 0; i < kNameTries; ++i) {
    path_ = temporary_name(folder, i);
    if (::mkdir(path_.c_str(), 0700) == 0) {
      if (claim()) return;
    } else if (errno != EEXIST) {
      break;
    }
  }
  throw system_error("make a temporary folder here", errno, folder);
}

TemporaryFolder::~TemporaryFolder() {
  remove_tree(path_);
  sys().close(fd_);
}

}  // namespace hz::io
