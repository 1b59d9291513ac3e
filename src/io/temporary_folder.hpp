// SPDX-License-Identifier: Apache-2.0
// TemporaryFolder: a folder for files between two steps of one work, gone with the object.
#pragma once
#include <filesystem>
#include <span>
#include <string_view>

namespace hz::io {

class TemporaryFolder {
 public:
  // Makes .hanzo-<process>-<number>.tmp in `parent`, open to this user alone and locked while the object lives; what killed
  // processes left there goes first, as with AtomicFile. Throws Error(io).
  explicit TemporaryFolder(const std::filesystem::path& parent);
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  bool claim();
  std::filesystem::path path_;
  int fd_ = -1;
};

// Renames a file or a folder. Throws Error(io) naming `to`.
void rename_or_throw(const std::filesystem::path& from, const std::filesystem::path& to);
// Moves files that belong together from `fresh`, which lies in `folder`, into `folder`, in place of files of those names. The last
// name is the one without which the others count as nothing: it goes first and comes last, so that at no instant old and new are mixed.
// A failure brings the old ones back. Throws Error(io).
void replace_files(const TemporaryFolder& fresh, const std::filesystem::path& folder, std::span<const std::string_view> names);

// Removes temporaries in `folder` that have no lock: their process was killed. Failures are nobody's concern.
void remove_stale(const std::filesystem::path& folder);
// The name of a temporary file or folder: .hanzo-<process>-<number>.tmp.
std::filesystem::path temporary_name(const std::filesystem::path& folder, int number);

}  // namespace hz::io
