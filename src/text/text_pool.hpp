// SPDX-License-Identifier: Apache-2.0
// TextPool: many short strings in one buffer, numbered in order of arrival and found by content.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace hz::text::detail {

// A hash for open addressing. `seed` differs per table, so that no file can be made to collide on purpose.
std::uint64_t hash_bytes(std::string_view bytes, std::uint64_t seed);
std::uint64_t hash_pair(std::uint64_t key, std::uint64_t seed);
std::uint64_t fresh_seed();

class TextPool {
 public:
  void reserve(std::size_t count, std::size_t bytes);

  // Appends a text under the next number. False, and nothing appended, when an equal one is there. At most
  // 2^31 - 1 texts and 2^32 - 1 bytes: callers bound both.
  bool add(std::string_view text);

  std::int32_t size() const { return static_cast<std::int32_t>(ends_.size()); }
  std::string_view operator[](std::int32_t i) const {
    const std::uint32_t begin = i == 0 ? 0 : ends_[static_cast<std::size_t>(i) - 1];
    return std::string_view(bytes_).substr(begin, ends_[static_cast<std::size_t>(i)] - begin);
  }
  std::int32_t find(std::string_view text) const;  // its number, or -1

 private:
  struct Slot {
    std::uint32_t hash;
    std::int32_t index;  // -1: free
  };
  void grow(std::size_t slots);

  std::string bytes_;
  std::vector<std::uint32_t> ends_;
  std::vector<Slot> slots_;  // a power of two, at most half full
  std::uint64_t seed_ = fresh_seed();
};

}  // namespace hz::text::detail
