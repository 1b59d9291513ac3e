// SPDX-License-Identifier: Apache-2.0
// Opening, reading and mapping of regular files, through the table of system calls.
#include "src/io/input_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <limits>
#include <system_error>

#include "hanzo/core/checked.hpp"
#include "src/io/mapped_range.hpp"
#include "src/io/message.hpp"
#include "src/io/sys.hpp"

namespace hz::io {
namespace {

constexpr int kOpenFlags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;  // a FIFO must not hang the open

std::shared_ptr<Storage> storage_of(std::shared_ptr<void> owner, std::size_t bytes) {
  auto storage = std::make_shared<Storage>();
  storage->data = static_cast<std::byte*>(owner.get());
  storage->bytes = bytes;
  storage->owner = std::move(owner);
  return storage;
}

// Mapped pages of a file, known to MapGuard for as long as they live.
struct FilePages {
  void* at;
  std::size_t bytes;
  MappedRange* range = nullptr;

  FilePages(void* a, std::size_t n) : at(a), bytes(n) {}
  FilePages(const FilePages&) = delete;
  FilePages& operator=(const FilePages&) = delete;
  ~FilePages() {
    if (range != nullptr) remove_mapped_range(range);
    if (at != nullptr) sys().munmap(at, bytes);
  }
};

FileIdentity identity_of(const struct stat& st) {
  return {st.st_dev, st.st_ino, static_cast<std::uint64_t>(st.st_size), st.st_mtim.tv_sec, st.st_mtim.tv_nsec};
}

}  // namespace

InputFile::InputFile(const std::filesystem::path& path) : path_(path), fd_(open_retrying(path.c_str(), kOpenFlags)) {
  if (fd_ < 0) throw system_error("open the file", errno, path_);
  struct stat st {};
  const bool known = sys().fstat(fd_, &st) == 0;
  const int error = errno;
  if (known && S_ISREG(st.st_mode) && st.st_size >= 0) {
    identity_ = identity_of(st);
    return;
  }
  sys().close(fd_);
  if (!known) throw system_error("inspect the file", error, path_);
  throw Error(ErrorKind::io, S_ISDIR(st.st_mode) ? "this is a folder, not a file" : "this is not a regular file", shown(path_),
              "name the file itself");
}

InputFile::~InputFile() { sys().close(fd_); }

std::string InputFile::text(std::uint64_t most) const {
  if (size() > most) throw Error(ErrorKind::bad_file, "has " + grouped(size()) + " bytes, more than " + grouped(most), shown(path_));
  std::string all(size(), '\0');
  read(0, std::as_writable_bytes(std::span(all)));
  return all;
}

void InputFile::read(std::uint64_t offset, std::span<std::byte> out) const {
  while (!out.empty()) {
    const ssize_t n = sys().pread(fd_, out.data(), std::min<std::size_t>(out.size(), std::size_t{1} << 30), static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) throw system_error("read at byte " + grouped(offset), errno, path_);
    if (n == 0)
      throw Error(ErrorKind::bad_file,
                  "the file ends at byte " + grouped(offset) + ", it had " + grouped(size()) + " bytes when it was opened", shown(path_),
                  "do not change the file while it is read");
    out = out.subspan(static_cast<std::size_t>(n));
    offset += static_cast<std::uint64_t>(n);
  }
}

std::shared_ptr<Storage> InputFile::map() const {
  if (size() == 0) return std::make_shared<Storage>();
  auto pages = std::make_shared<FilePages>(nullptr, size());
  void* at = sys().mmap(nullptr, size(), PROT_READ, MAP_PRIVATE, fd_, 0);
  if (at == MAP_FAILED) throw system_error("map " + grouped(size()) + " bytes", errno, path_);
  pages->at = at;
  pages->range = add_mapped_range(at, size(), path_);
  auto storage = storage_of({pages, at}, size());
  storage->mapped = true;
  return storage;
}

std::shared_ptr<Storage> InputFile::copy(std::uint64_t offset, std::uint64_t bytes, const Progress& progress, std::uint64_t done,
                                         std::uint64_t total) const {
  constexpr std::uint64_t kPiece = std::uint64_t{8} << 20;  // a stop is obeyed between pieces
  auto storage = anonymous_pages(bytes, path_);
  for (std::uint64_t at = 0; at < bytes; at += kPiece) {
    progress.check("reading");
    const std::uint64_t n = std::min(kPiece, bytes - at);
    read(offset + at, {storage->data + at, n});
    progress("reading", done + at + n, total);
  }
  return storage;
}

void InputFile::check_unchanged(const FileIdentity& before) const {
  struct stat st {};
  if (sys().fstat(fd_, &st) != 0) throw system_error("inspect the file", errno, path_);
  if (st.st_size < 0 || identity_of(st) != before)
    throw Error(ErrorKind::bad_file, "the file was changed or replaced while it was being read", shown(path_),
                "wait until it is written, then open it again");
}

bool is_there(const std::filesystem::path& path) noexcept {
  std::error_code error;
  return std::filesystem::exists(std::filesystem::symlink_status(path, error));
}

bool is_folder(const std::filesystem::path& path) noexcept {
  std::error_code error;
  return std::filesystem::is_directory(path, error);
}

std::shared_ptr<Storage> anonymous_pages(std::uint64_t bytes, const std::filesystem::path& for_file) {
  if (bytes == 0) return std::make_shared<Storage>();
  if (bytes > std::numeric_limits<std::int64_t>::max()) throw system_error("hold " + grouped(bytes) + " bytes", ENOMEM, for_file);
  void* at = sys().mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) throw system_error("hold " + grouped(bytes) + " bytes in memory", errno, for_file);
  return storage_of({at, [bytes](void* p) { sys().munmap(p, bytes); }}, bytes);
}

}  // namespace hz::io
