// SPDX-License-Identifier: Apache-2.0
// The host arena: alignment, reuse, trimming, and memory that threads hand to each other.
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <deque>
#include <fstream>
#include <random>
#include <thread>
#include <vector>

#include "hanzo/core/tensor.hpp"
#include "tests/catch.hpp"
#include "tests/sanitized.hpp"

namespace hz {

TEST_CASE("every size is aligned and writable to its last byte") {
  for (std::size_t bytes = 0; bytes < 5000; bytes += 37) {
    const auto s = allocate_host(bytes);
    REQUIRE(reinterpret_cast<std::uintptr_t>(s->data) % 64 == 0);
    REQUIRE(s->bytes == bytes);
    std::memset(s->data, 0xab, bytes);
  }
  const auto large = allocate_host((std::size_t{4} << 20) + 1);
  std::memset(large->data, 1, large->bytes);
  CHECK(large->data[large->bytes - 1] == std::byte{1});
}

TEST_CASE("a freed block is reused for the same size class") {
  trim_host_arena();
  std::byte* first = allocate_host(10000)->data;
  CHECK(allocate_host(10001)->data == first);
}

TEST_CASE("blocks in use are never handed out twice") {
  std::vector<std::shared_ptr<Storage>> held;
  for (int i = 0; i < 100; ++i) {
    held.push_back(allocate_host(4096));
    std::memset(held.back()->data, i, 4096);
  }
  for (int i = 0; i < 100; ++i) {
    const auto& s = held[static_cast<std::size_t>(i)];
    REQUIRE(s->data[0] == static_cast<std::byte>(i));
    REQUIRE(s->data[4095] == static_cast<std::byte>(i));
  }
}

TEST_CASE("trimming releases what is cached and nothing that is held") {
  trim_host_arena();
  const auto held = allocate_host(1 << 16);
  std::memset(held->data, 7, held->bytes);
  allocate_host(1 << 16).reset();
  CHECK(trim_host_arena() >= std::size_t{1} << 16);
  CHECK(trim_host_arena() == 0);
  CHECK(held->data[65535] == std::byte{7});
}

TEST_CASE("what the arena keeps is bounded by what was in use at once") {
  constexpr std::size_t kMiB = std::size_t{1} << 20;
  trim_host_arena();
  for (std::size_t size = 64 * kMiB; size >= 8 * kMiB; size -= size / 32) allocate_host(size).reset();  // 48 size classes
  const std::size_t kept = trim_host_arena();
  CHECK(kept >= 64 * kMiB);   // the largest, which one at a time was in use
  CHECK(kept <= 200 * kMiB);  // not the 1.5 GiB of all of them
  allocate_host(kMiB).reset();
  CHECK(trim_host_arena() >= kMiB);
}

TEST_CASE("threads allocate and free at the same time") {
  std::atomic<int> wrong{0};
  std::vector<std::jthread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&wrong, t] {
      for (int i = 0; i < 500; ++i) {
        const auto s = allocate_host(static_cast<std::size_t>(64 + i % 7 * 100));
        std::memset(s->data, t, s->bytes);
        if (s->data[s->bytes - 1] != static_cast<std::byte>(t)) ++wrong;
      }
    });
  threads.clear();
  CHECK(wrong == 0);
}

TEST_CASE("a request beyond any machine is out of memory") {
  for (const std::size_t bytes : {SIZE_MAX, SIZE_MAX / 2, std::size_t{1} << 62}) {
    try {
      allocate_host(bytes);
      FAIL("no error for " << bytes);
    } catch (const Error& e) {
      CHECK(e.kind() == ErrorKind::out_of_memory);
    }
  }
}

// Bytes of this process that lie in memory.
std::size_t resident() {
  std::ifstream file("/proc/self/statm");
  std::size_t all = 0, pages = 0;
  file >> all >> pages;
  return pages * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

TEST_CASE("large blocks of ever other sizes leave no holes between small ones that stay") {
  constexpr std::size_t kKiB = 1024;
  if (test::kSanitized) HZ_SKIP("sanitizers keep memory of their own");
  trim_host_arena();
  std::mt19937 random(3);
  std::vector<std::shared_ptr<Storage>> small;
  std::deque<std::shared_ptr<Storage>> large;
  const std::size_t before = resident();
  for (int i = 0; i < 1000; ++i) {
    large.push_back(allocate_host((300 + random() % 8000) * kKiB));
    std::memset(large.back()->data, 1, large.back()->bytes);
    small.push_back(allocate_host(8 * kKiB));
    std::memset(small.back()->data, 1, small.back()->bytes);
    if (large.size() > 6) large.erase(large.begin() + static_cast<std::ptrdiff_t>(random() % large.size()));
    if (i % 10 == 0) trim_host_arena();
  }
  large.clear();
  trim_host_arena();
  CHECK(resident() < before + 40000 * kKiB);
}

}  // namespace hz
