// SPDX-License-Identifier: Apache-2.0
// AtomicFile: a file that appears whole or not at all: a temporary beside it, fsync, rename, fsync of the folder.
#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string_view>

namespace hz::io {

class AtomicFile {
 public:
  // Makes a temporary, .hanzo-<process>-<number>.tmp, in the target's folder, and removes those that killed processes left
  // there: a temporary is locked (flock) for as long as it is written. An existing target stays untouched until commit(),
  // which keeps its permissions; a link is followed. Throws Error(io).
  explicit AtomicFile(const std::filesystem::path& target);
  // Removes what was not committed.
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  // A failed write, fsync or rename throws Error(io), removes the temporary and ends this object's use: nothing is
  // tried again on a file whose state the system no longer vouches for. Start anew from memory.
  void write(std::span<const std::byte> bytes);
  void write(std::string_view text);
  void pad(std::uint64_t zeros);
  std::uint64_t position() const;  // bytes written so far
  // Makes the file permanent under its name. An error after the rename says that the new file is in place but may
  // not outlive a power loss.
  void commit();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Throws what an AtomicFile for `target` would: for a program that wants to know before long work. Writes nothing.
void check_writable(const std::filesystem::path& target);

// Throws usage when `target` is one of the inputs, also through a link: writing it would replace what it is made of.
void refuse_input(const std::filesystem::path& target, std::span<const std::filesystem::path> inputs);

// The whole file at once, atomically.
void write_file(const std::filesystem::path& target, std::string_view content);

}  // namespace hz::io
