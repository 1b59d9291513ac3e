// SPDX-License-Identifier: Apache-2.0
// InputFile: a regular file opened for reading; its size is fixed at opening and every read is checked against it.
#pragma once
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>

#include "hanzo/core/progress.hpp"
#include "hanzo/core/tensor.hpp"

namespace hz::io {

// What tells one state of a file from another: a replaced or rewritten file differs in at least one.
struct FileIdentity {
  std::uint64_t device = 0, inode = 0, size = 0;
  std::int64_t modified_s = 0, modified_ns = 0;
  friend bool operator==(const FileIdentity&, const FileIdentity&) = default;
};

class InputFile {
 public:
  // Throws Error(io): absent, not permitted, not a regular file.
  explicit InputFile(const std::filesystem::path& path);
  ~InputFile();
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::uint64_t size() const { return identity_.size; }
  const FileIdentity& identity() const { return identity_; }  // at opening

  // Reads exactly out.size() bytes at `offset`. Throws io on a failed read, bad_file when the file ends earlier.
  void read(std::uint64_t offset, std::span<std::byte> out) const;
  // The whole file. Throws bad_file when it has more than `most` bytes, and as read does.
  std::string text(std::uint64_t most) const;
  // The whole file as read-only pages.
  std::shared_ptr<Storage> map() const;
  // A private copy of `bytes` bytes at `offset`; progress counts from `done` of `total` bytes.
  std::shared_ptr<Storage> copy(std::uint64_t offset, std::uint64_t bytes, const Progress& progress, std::uint64_t done,
                                std::uint64_t total) const;
  // Throws bad_file when the file is no longer what `before` says.
  void check_unchanged(const FileIdentity& before) const;

 private:
  std::filesystem::path path_;
  int fd_ = -1;
  FileIdentity identity_;
};

// std::filesystem throws an error of its own where a path cannot be looked at; here that counts as no, and whoever opens
// the path says why.
bool is_there(const std::filesystem::path& path) noexcept;    // a link counts even when its target is missing
bool is_folder(const std::filesystem::path& path) noexcept;

// Zeroed private pages of their own, given back on destruction; touched pages alone cost memory.
std::shared_ptr<Storage> anonymous_pages(std::uint64_t bytes, const std::filesystem::path& for_file);

}  // namespace hz::io
