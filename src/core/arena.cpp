// SPDX-License-Identifier: Apache-2.0
// The caching host arena: freed blocks wait in size classes, so a steady forward pass allocates nothing.
#include <sys/mman.h>

#include <array>
#include <bit>
#include <cstdlib>
#include <mutex>
#include <new>
#include <string>
#include <vector>

#include "hanzo/core/tensor.hpp"

namespace hz {
namespace {

constexpr std::size_t kAlign = 64;
constexpr std::size_t kHugePage = std::size_t{2} << 20;
constexpr int kClasses = 64 * 16;

// Sixteen classes per power of two: at most a sixteenth of a block is unused.
std::size_t class_size(std::size_t bytes) {
  const std::size_t least = bytes < 256 ? 256 : bytes;
  const std::size_t step = std::bit_floor(least) / 16;
  return (least + step - 1) / step * step;
}
int class_index(std::size_t size) {
  const int top = static_cast<int>(std::bit_width(size)) - 1;
  return top * 16 + static_cast<int>((size >> (top - 4)) & 15u);
}

struct Arena {
  std::mutex mutex;
  std::array<std::vector<void*>, kClasses> free;
  std::size_t cached = 0;
};
Arena& arena() {
  static Arena* a = new Arena;  // never destroyed: storage may outlive static objects
  return *a;
}

void* allocate_block(std::size_t size) {
  const std::size_t align = size >= kHugePage ? kHugePage : kAlign;
  void* p = std::aligned_alloc(align, (size + align - 1) / align * align);
  if (p == nullptr && trim_host_arena() > 0) p = std::aligned_alloc(align, (size + align - 1) / align * align);
  if (p == nullptr)
    throw Error(ErrorKind::out_of_memory, "cannot allocate " + std::to_string(size) + " bytes", "",
                "use a smaller context (-c), a smaller batch (--ub) or a smaller model");
  if (size >= kHugePage) ::madvise(p, size, MADV_HUGEPAGE);  // a hint; failure changes nothing
  return p;
}

void release(void* p, std::size_t size) noexcept {
  Arena& a = arena();
  const std::lock_guard lock(a.mutex);
  auto& list = a.free[static_cast<std::size_t>(class_index(size))];
  try {
    list.push_back(p);
    a.cached += size;
  } catch (...) {
    std::free(p);
  }
}

}  // namespace

std::shared_ptr<Storage> allocate_host(std::size_t bytes) {
  if (bytes > (std::size_t{1} << 62)) throw Error(ErrorKind::out_of_memory, "an allocation of " + std::to_string(bytes) + " bytes");
  const std::size_t size = class_size(bytes);
  void* p = nullptr;
  {
    Arena& a = arena();
    const std::lock_guard lock(a.mutex);
    auto& list = a.free[static_cast<std::size_t>(class_index(size))];
    if (!list.empty()) {
      p = list.back();
      list.pop_back();
      a.cached -= size;
    }
  }
  if (p == nullptr) p = allocate_block(size);
  std::shared_ptr<void> owner(p, [size](void* q) { release(q, size); });
  auto storage = std::make_shared<Storage>();
  storage->data = static_cast<std::byte*>(p);
  storage->bytes = bytes;
  storage->owner = std::move(owner);
  return storage;
}

std::size_t trim_host_arena() {
  Arena& a = arena();
  const std::lock_guard lock(a.mutex);
  for (auto& list : a.free) {
    for (void* p : list) std::free(p);
    list.clear();
  }
  const std::size_t released = a.cached;
  a.cached = 0;
  return released;
}

}  // namespace hz
