// SPDX-License-Identifier: Apache-2.0
// The caching host arena: freed blocks wait in size classes, so a steady forward pass allocates nothing. And the host's
// memory as a DeviceMemory.
#include <sys/mman.h>

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
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
constexpr std::size_t kSlack = std::size_t{64} << 20;

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

std::size_t size_of_class(int index) { return static_cast<std::size_t>(16 + index % 16) << (index / 16 - 4); }

struct Arena {
  std::mutex mutex;
  std::array<std::vector<void*>, kClasses> free;
  std::size_t cached = 0, live = 0, peak = 0;  // bytes kept, in use, and most in use since the last trim

  void count_live(std::size_t size) {
    live += size;
    peak = peak > live ? peak : live;
  }
  // Tensors of ever other sizes must not heap up blocks that nobody asks for again.
  bool keeps(std::size_t size) const { return live + cached + size <= peak + peak / 4 + kSlack; }
};
Arena& arena() {
  static Arena* a = new Arena;  // never destroyed: storage may outlive static objects
  return *a;
}

// Large blocks are mappings of their own, whole huge pages where they can hold one: in malloc's heap, blocks of ever other sizes
// leave holes that the next ones do not fit.
#if defined(__SANITIZE_ADDRESS__)
#define HZ_WATCHED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HZ_WATCHED 1
#endif
#endif
#ifdef HZ_WATCHED  // by the address sanitizer, which knows the ends of malloc's blocks alone
constexpr std::size_t kMapped = SIZE_MAX;
#else
constexpr std::size_t kMapped = std::size_t{256} << 10;
#endif

void* map_block(std::size_t size) noexcept {
  const std::size_t spare = size >= kHugePage ? kHugePage : 0;
  void* p = ::mmap(nullptr, size + spare, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED) return nullptr;
  if (spare == 0) return p;
  auto* first = static_cast<std::byte*>(p);
  const std::size_t head = (kHugePage - reinterpret_cast<std::uintptr_t>(p) % kHugePage) % kHugePage;
  if (head > 0) ::munmap(first, head);
  if (head < spare) ::munmap(first + head + size, spare - head);
  return first + head;
}

void* new_block(std::size_t size) noexcept {
  return size >= kMapped ? map_block(size) : ::operator new(size, std::align_val_t{kAlign}, std::nothrow);
}
void free_block(void* p, std::size_t size) noexcept {
  if (size >= kMapped) ::munmap(p, size);
  else ::operator delete(p, std::align_val_t{kAlign});
}

void* allocate_block(std::size_t size) {
  void* p = new_block(size);
  if (p == nullptr && trim_host_arena() > 0) p = new_block(size);
  if (p == nullptr)
    throw Error(ErrorKind::out_of_memory, "cannot allocate " + std::to_string(size) + " bytes", "",
                "use a smaller context (-c), a smaller batch (--ub) or a smaller model");
  if (size >= kHugePage) ::madvise(p, size, MADV_HUGEPAGE);  // a hint; failure changes nothing
  return p;
}

void release(void* p, std::size_t size) noexcept {
  Arena& a = arena();
  {
    const std::lock_guard lock(a.mutex);
    a.live -= size;
    if (a.keeps(size)) {
      try {
        a.free[static_cast<std::size_t>(class_index(size))].push_back(p);
        a.cached += size;
        return;
      } catch (...) {  // no room for the note: the block goes back
      }
    }
  }
  free_block(p, size);
}

class HostMemory final : public DeviceMemory {
 public:
  bool on_host() const override { return true; }
  std::shared_ptr<Storage> allocate(std::size_t bytes) override { return allocate_host(bytes); }
  void copy(const Storage& from, std::size_t from_offset, Storage& to, std::size_t to_offset, std::size_t bytes) override {
    if (bytes > 0) std::memcpy(to.data + to_offset, from.data + from_offset, bytes);
  }
  void clear(Storage& to, std::size_t offset, std::size_t bytes) override {
    if (bytes > 0) std::memset(to.data + offset, 0, bytes);
  }
};

}  // namespace

DeviceMemory& host_memory() {
  static HostMemory* memory = new HostMemory;  // never destroyed, as the arena
  return *memory;
}

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
      a.count_live(size);
    }
  }
  if (p == nullptr) {
    p = allocate_block(size);
    Arena& a = arena();
    const std::lock_guard lock(a.mutex);
    a.count_live(size);
  }
  std::shared_ptr<void> owner(p, [size](void* q) { release(q, size); });  // calls it too when it cannot be made
  auto storage = std::make_shared<Storage>();
  storage->data = static_cast<std::byte*>(p);
  storage->bytes = bytes;
  storage->owner = std::move(owner);
  return storage;
}

std::size_t trim_host_arena() {
  Arena& a = arena();
  const std::lock_guard lock(a.mutex);
  for (int i = 0; i < kClasses; ++i) {
    auto& list = a.free[static_cast<std::size_t>(i)];
    for (void* p : list) free_block(p, size_of_class(i));
    std::vector<void*>().swap(list);
  }
  const std::size_t released = a.cached;
  a.cached = 0;
  a.peak = a.live;
  return released;
}

}  // namespace hz
