// SPDX-License-Identifier: Apache-2.0
// Names are given and taken by rename alone; the system's removal of a tree works on hidden names.
#include "hanzo/io/atomic_folder.hpp"

#include <unistd.h>

#include <cerrno>
#include <string>
#include <vector>

#include "src/io/input_file.hpp"
#include "src/io/message.hpp"
#include "src/io/sys.hpp"
#include "src/io/temporary_folder.hpp"

namespace hz::io {
namespace {

namespace fs = std::filesystem;

fs::path parent_of(const fs::path& p) { return p.parent_path().empty() ? fs::path(".") : p.parent_path(); }

fs::path hidden(const fs::path& target, const char* why) {
  return parent_of(target) / (std::string(kUnfinished) + why + "-" + std::to_string(::getpid()) + "-" + target.filename().string());
}

void sync(const fs::path& folder) {
  if (const int error = sync_folder(folder.c_str()); error != 0) throw system_error("write the folder to the disk", error, folder);
}

}  // namespace

AtomicFolder::AtomicFolder(const fs::path& target) : target_(target), temporary_(hidden(target, "new")) {
  std::error_code error;
  fs::remove_all(temporary_, error);
  fs::create_directory(temporary_, error);
  if (error) throw system_error("make a folder here", error.value(), target);
}

AtomicFolder::~AtomicFolder() {
  std::error_code ignored;
  if (!temporary_.empty()) fs::remove_all(temporary_, ignored);
}

void AtomicFolder::commit() {
  sync(temporary_);
  if (is_there(target_)) remove_folder(target_);
  rename_or_throw(temporary_, target_);
  temporary_.clear();
  sync(parent_of(target_));
}

void remove_folder(const fs::path& folder) {
  const fs::path old = hidden(folder, "old");
  std::error_code error;
  fs::remove_all(old, error);
  rename_or_throw(folder, old);
  fs::remove_all(old, error);  // what stays has a hidden name
}

void remove_unfinished(const fs::path& folder) {
  std::vector<fs::path> found;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error))
    if (entry.path().filename().string().starts_with(kUnfinished)) found.push_back(entry.path());
  for (const fs::path& path : found) fs::remove_all(path, error);
}

}  // namespace hz::io
