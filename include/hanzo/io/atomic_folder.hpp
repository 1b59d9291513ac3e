// SPDX-License-Identifier: Apache-2.0
// AtomicFolder: a folder that appears whole or not at all: filled under a hidden name, synced, renamed.
#pragma once
#include <filesystem>
#include <string_view>

namespace hz::io {

// Names that begin so are unfinished: left by a process that was killed. They count as nothing.
inline constexpr std::string_view kUnfinished = ".hanzo-";

class AtomicFolder {
 public:
  // Makes the hidden folder beside `target`. Throws Error(io).
  explicit AtomicFolder(const std::filesystem::path& target);
  // Removes what was not committed.
  ~AtomicFolder();
  AtomicFolder(const AtomicFolder&) = delete;
  AtomicFolder& operator=(const AtomicFolder&) = delete;

  const std::filesystem::path& path() const { return temporary_; }  // where to put files, each by AtomicFile
  // Gives it its name; a folder of that name is replaced. Throws Error(io).
  void commit();

 private:
  std::filesystem::path target_, temporary_;
};

// Removes a folder so that at no instant half of it stands under its name.
void remove_folder(const std::filesystem::path& folder);
// Removes unfinished files and folders in `folder` that killed processes left.
void remove_unfinished(const std::filesystem::path& folder);

}  // namespace hz::io
