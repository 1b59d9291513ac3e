// SPDX-License-Identifier: Apache-2.0
// Cursor: walks the header of a GGUF file in private memory, loading as it goes; no step leaves the file.
#pragma once
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>

#include "src/io/input_file.hpp"

namespace hz::io {

// The front of a file in private memory (what was checked cannot change under us), read as far as asked for.
class HeaderBytes {
 public:
  explicit HeaderBytes(const InputFile& file);
  const InputFile& file() const { return file_; }
  // Bytes [at, at + n), which the caller has compared with the file's size.
  // Throws bad_file beyond the limit for headers. The bytes stay in place for this object's life.
  const char* bytes(std::uint64_t at, std::uint64_t n);

 private:
  const InputFile& file_;
  std::shared_ptr<Storage> pages_;
  std::uint64_t loaded_ = 0;
};

class Cursor {
 public:
  Cursor(HeaderBytes& bytes, std::uint64_t at) : bytes_(bytes), at_(at) {}

  std::uint64_t position() const { return at_; }
  std::uint64_t left() const { return bytes_.file().size() - at_; }  // bytes to the end of the file
  // What is being read, for messages: "the value of key", "general.name". The name must outlive its use.
  void reading(std::string_view what, std::string_view name = {}) {
    what_ = what;
    name_ = name;
  }

  template <class T>
  T number() {
    static_assert(std::is_arithmetic_v<T> && !std::is_same_v<T, bool>);
    T v;
    std::memcpy(&v, take(sizeof(T)), sizeof(T));
    return v;
  }
  std::string_view text();  // u64 length, bytes
  const char* take(std::uint64_t n);

  // Error(bad_file): "general.name: FAULT" with the place; hint defaults to the one for damaged files.
  [[noreturn]] void fail(const std::string& fault, std::string hint = {}) const;
  [[noreturn]] void fail_at(const std::string& what, const std::string& fault, std::string hint) const;
  const std::filesystem::path& path() const { return bytes_.file().path(); }

 private:
  HeaderBytes& bytes_;
  std::uint64_t at_;
  std::string_view what_, name_;
};

}  // namespace hz::io
