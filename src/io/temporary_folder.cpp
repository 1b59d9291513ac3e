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
#include <utility>
#include <vector>

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

// The old files while new ones come: back in their places unless told that those are there.
struct Aside {
  std::vector<std::pair<std::filesystem::path, std::filesystem::path>> moved;  // from, to
  bool done = false;

  void take(const std::filesystem::path& from, const std::filesystem::path& to) {
    moved.emplace_back(from, to);  // first: no memory is asked for once the file has moved
    if (sys().rename(from.c_str(), to.c_str()) == 0) return;
    moved.pop_back();
    if (errno != ENOENT) throw system_error("put the old file aside", errno, from);
  }
  ~Aside() {
    for (auto m = moved.rbegin(); !done && m != moved.rend(); ++m) sys().rename(m->second.c_str(), m->first.c_str());
  }
};

}  // namespace

void rename_or_throw(const std::filesystem::path& from, const std::filesystem::path& to) {
  if (sys().rename(from.c_str(), to.c_str()) != 0) throw system_error("give it its name", errno, to);
}

void replace_files(const TemporaryFolder& fresh, const std::filesystem::path& folder, std::span<const std::string_view> names) {
  Aside old;
  for (auto name = names.rbegin(); name != names.rend(); ++name)
    old.take(folder / *name, fresh.path() / ("old-" + std::string(*name)));
  for (const std::string_view name : names) rename_or_throw(fresh.path() / name, folder / name);
  old.done = true;
  if (const int error = sync_folder(folder.c_str()); error != 0) throw system_error("make the new names permanent", error, folder);
}

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
// Else errno tells why; EEXIST: it was taken.
bool TemporaryFolder::claim() {
  fd_ = open_retrying(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
  if (fd_ < 0) return false;
  struct stat st {};
  int error = EEXIST;
  if (sys().flock(fd_, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) {
    if (sys().fstat(fd_, &st) != 0) error = errno;
    else if (st.st_nlink > 0) return true;
  }
  sys().close(std::exchange(fd_, -1));
  errno = error;
  return false;
}

TemporaryFolder::TemporaryFolder(const std::filesystem::path& parent) {
  const auto folder = parent.empty() ? std::filesystem::path(".") : parent;
  remove_stale(folder);
  int error = EEXIST;
  for (int i = 0; error == EEXIST && i < kNameTries; ++i) {
    path_ = temporary_name(folder, i);
    if (::mkdir(path_.c_str(), 0700) == 0) {
      if (claim()) return;
      error = errno;
      ::rmdir(path_.c_str());
    } else {
      error = errno;
    }
  }
  throw system_error("make a temporary folder here", error, folder);
}

TemporaryFolder::~TemporaryFolder() {
  remove_tree(path_);
  sys().close(fd_);
}

}  // namespace hz::io
