// SPDX-License-Identifier: Apache-2.0
// TextPool: open addressing with linear probing over a 64-bit mixing hash.
#include "src/text/text_pool.hpp"

#include <bit>
#include <cstring>
#include <random>

namespace hz::text::detail {
namespace {

// The two halves of the 128-bit product, folded: every input bit reaches every output bit.
std::uint64_t fold(std::uint64_t a, std::uint64_t b) {
  __extension__ using Wide = unsigned __int128;
  const Wide product = static_cast<Wide>(a) * b;
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

std::uint64_t load(const char* p, std::size_t n) {
  std::uint64_t v = 0;
  std::memcpy(&v, p, n);
  return v;
}

constexpr std::uint64_t kA = 0x9E3779B97F4A7C15ULL, kB = 0xC2B2AE3D27D4EB4FULL;

}  // namespace

std::uint64_t hash_bytes(std::string_view bytes, std::uint64_t seed) {
  const char* p = bytes.data();
  std::size_t n = bytes.size();
  std::uint64_t h = seed ^ fold(n + 1, kA);
  for (; n > 16; p += 16, n -= 16) h = fold(load(p, 8) ^ h, load(p + 8, 8) ^ kB);
  const std::uint64_t first = load(p, n < 8 ? n : 8);
  const std::uint64_t second = n > 8 ? load(p + 8, n - 8) : 0;
  return fold(first ^ h, second ^ kB ^ seed) ^ (h >> 32);
}

std::uint64_t hash_pair(std::uint64_t key, std::uint64_t seed) { return fold(key ^ seed, kA ^ (seed >> 1)); }

std::uint64_t fresh_seed() {
  std::random_device device;
  return (static_cast<std::uint64_t>(device()) << 32) | device();
}

void TextPool::reserve(std::size_t count, std::size_t bytes) {
  bytes_.reserve(bytes);
  ends_.reserve(count);
  grow(std::bit_ceil(2 * count + 16));
}

bool TextPool::add(std::string_view text) {
  if (2 * (ends_.size() + 1) > slots_.size()) grow(slots_.empty() ? 64 : 2 * slots_.size());
  const auto hash = static_cast<std::uint32_t>(hash_bytes(text, seed_));
  const std::size_t mask = slots_.size() - 1;
  std::size_t i = hash & mask;
  for (; slots_[i].index >= 0; i = (i + 1) & mask)
    if (slots_[i].hash == hash && (*this)[slots_[i].index] == text) return false;
  slots_[i] = {hash, size()};
  bytes_.append(text);
  ends_.push_back(static_cast<std::uint32_t>(bytes_.size()));
  return true;
}

std::int32_t TextPool::find(std::string_view text) const {
  if (slots_.empty()) return -1;
  const auto hash = static_cast<std::uint32_t>(hash_bytes(text, seed_));
  const std::size_t mask = slots_.size() - 1;
  for (std::size_t i = hash & mask; slots_[i].index >= 0; i = (i + 1) & mask)
    if (slots_[i].hash == hash && (*this)[slots_[i].index] == text) return slots_[i].index;
  return -1;
}

void TextPool::grow(std::size_t slots) {
  if (slots <= slots_.size()) return;
  std::vector<Slot> old(slots, Slot{0, -1});
  old.swap(slots_);
  const std::size_t mask = slots_.size() - 1;
  for (const Slot& s : old) {
    if (s.index < 0) continue;
    std::size_t i = s.hash & mask;
    while (slots_[i].index >= 0) i = (i + 1) & mask;
    slots_[i] = s;
  }
}

}  // namespace hz::text::detail
