// SPDX-License-Identifier: Apache-2.0
// The order of the steps follows Pillai et al., OSDI 2014, and Rebello et al., ATC 2020 (a failed fsync is final).
#include "hanzo/io/atomic_file.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string>
#include <vector>

#include "src/io/message.hpp"
#include "src/io/sys.hpp"
#include "src/io/temporary_folder.hpp"

namespace hz::io {
namespace {

constexpr std::size_t kBuffer = std::size_t{256} << 10;
constexpr int kNameTries = 10000;

std::filesystem::path followed(const std::filesystem::path& target) {
  std::error_code error;
  const auto status = std::filesystem::status(target, error);
  if (std::filesystem::is_directory(status)) throw Error(ErrorKind::io, "cannot write: this is a folder", shown(target), "name a file");
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status))
    throw Error(ErrorKind::io, "cannot write: this is not a regular file", shown(target), "name a regular file");
  if (target.filename().empty()) throw Error(ErrorKind::io, "cannot write: the path names no file", shown(target), "name a file");
  auto real = std::filesystem::canonical(target, error);
  return error ? target : real;
}

std::filesystem::path folder_of(const std::filesystem::path& file) {
  const auto parent = file.parent_path();
  return parent.empty() ? std::filesystem::path(".") : parent;
}

}  // namespace

// Owns the temporary: whatever throws, its end removes what was not committed.
struct AtomicFile::State {
  std::filesystem::path target, temporary;
  int fd = -1;
  std::uint64_t written = 0;
  std::vector<std::byte> buffer;

  ~State() { drop(); }
  bool live() const { return fd >= 0; }
  void create();
  bool claim();
  void keep_permissions() const;
  void flush();
  void put(const std::byte* bytes, std::size_t n);
  void sync_folder() const;
  // Ends the file: closes and removes the temporary.
  void drop() noexcept;
  [[noreturn]] void fail(std::string_view doing, int error_number);
};

void AtomicFile::State::drop() noexcept {
  if (fd >= 0) sys().close(fd);
  fd = -1;
  if (!temporary.empty()) sys().unlink(temporary.c_str());
  temporary.clear();
}

void AtomicFile::State::fail(std::string_view doing, int error_number) {
  drop();
  throw system_error(doing, error_number, target);
}

// True when the new file is ours: locked, or on a file system without locks, and not taken for a stale one before it was.
bool AtomicFile::State::claim() {
  if (sys().flock(fd, LOCK_EX | LOCK_NB) != 0) return errno != EWOULDBLOCK;
  struct stat st {};
  if (sys().fstat(fd, &st) != 0) fail("inspect the new file", errno);
  return st.st_nlink > 0;
}

void AtomicFile::State::create() {
  const auto folder = folder_of(target);
  remove_stale(folder);
  for (int i = 0; i < kNameTries; ++i) {
    temporary = temporary_name(folder, i);
    fd = open_retrying(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (fd >= 0) {
      if (claim()) return;
      sys().close(fd);
      fd = -1;
    } else if (errno != EEXIST) {
      break;
    }
  }
  const int error = errno;
  temporary.clear();
  fail("make a file in this folder", error);
}

// Best effort: some file systems have no permissions to set.
void AtomicFile::State::keep_permissions() const {
  std::error_code error;
  const auto status = std::filesystem::status(target, error);
  if (!error && std::filesystem::exists(status)) sys().fchmod(fd, static_cast<mode_t>(status.permissions()) & 0777u);
}

void AtomicFile::State::put(const std::byte* bytes, std::size_t n) {
  while (n > 0) {
    const ssize_t done = sys().write(fd, bytes, std::min(n, std::size_t{1} << 30));
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) fail("write", done < 0 ? errno : ENOSPC);
    bytes += done;
    n -= static_cast<std::size_t>(done);
  }
}

void AtomicFile::State::flush() {
  put(buffer.data(), buffer.size());
  buffer.clear();
}

void AtomicFile::State::sync_folder() const {
  if (const int error = io::sync_folder(folder_of(target).c_str()); error != 0)
    throw system_error("make the new name permanent (the new file is in place, but may not outlive a power loss)", error, target);
}

AtomicFile::AtomicFile(const std::filesystem::path& target) : state_(std::make_unique<State>()) {
  state_->target = followed(target);
  state_->buffer.reserve(kBuffer);
  state_->create();
  state_->keep_permissions();
}

AtomicFile::~AtomicFile() = default;

std::uint64_t AtomicFile::position() const { return state_->written; }

void AtomicFile::write(std::span<const std::byte> bytes) {
  State& s = *state_;
  if (!s.live()) throw Error(ErrorKind::usage, "[AtomicFile] written to after a failure or after commit", shown(s.target));
  s.written += bytes.size();
  if (s.buffer.size() + bytes.size() > kBuffer) s.flush();
  if (bytes.size() >= kBuffer) s.put(bytes.data(), bytes.size());
  else s.buffer.insert(s.buffer.end(), bytes.begin(), bytes.end());
}

void AtomicFile::write(std::string_view text) { write(std::as_bytes(std::span(text.data(), text.size()))); }

void AtomicFile::pad(std::uint64_t zeros) {
  constexpr std::array<std::byte, 4096> kZeros{};
  for (; zeros > 0; zeros -= std::min<std::uint64_t>(zeros, kZeros.size()))
    write(std::span(kZeros).first(std::min<std::uint64_t>(zeros, kZeros.size())));
}

void AtomicFile::commit() {
  State& s = *state_;
  if (!s.live()) throw Error(ErrorKind::usage, "[AtomicFile] committed after a failure or twice", shown(s.target));
  s.flush();
  if (sys().fsync(s.fd) != 0) s.fail("write the file to the disk", errno);
  const int closed = sys().close(s.fd);
  s.fd = -1;
  if (closed != 0 && errno != EINTR) s.fail("close the file", errno);
  if (sys().rename(s.temporary.c_str(), s.target.c_str()) != 0) s.fail("give the file its name", errno);
  s.temporary.clear();
  s.sync_folder();
}

void refuse_input(const std::filesystem::path& target, std::span<const std::filesystem::path> inputs) {
  std::error_code ignored;
  for (const auto& f : inputs)
    if (std::filesystem::equivalent(f, target, ignored))
      throw Error(ErrorKind::usage, "the output is the input itself (" + f.filename().string() + ")", shown(target),
                  "name another file; the input is needed until the end");
}

void check_writable(const std::filesystem::path& target) { const AtomicFile file(target); }

void write_file(const std::filesystem::path& target, std::string_view content) {
  AtomicFile file(target);
  file.write(content);
  file.commit();
}

}  // namespace hz::io
