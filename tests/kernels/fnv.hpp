// SPDX-License-Identifier: Apache-2.0
// A hash of the bits of numbers, for records of what kernels compute.
#pragma once
#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

namespace hz::test {

inline constexpr std::uint64_t kFnvBegin = 0xcbf29ce484222325u;

// FNV-1a of the values after those that gave `hash`, least significant byte first; a NaN counts as 0, since processors differ in
// its bits.
inline std::uint64_t fnv1a(const std::vector<float>& values, std::uint64_t hash = kFnvBegin) {
  for (const float v : values) {
    std::uint32_t bits = 0;
    if (!std::isnan(v)) std::memcpy(&bits, &v, 4);
    for (int i = 0; i < 4; ++i) hash = (hash ^ (bits >> (8 * i) & 255u)) * 0x100000001b3u;
  }
  return hash;
}

}  // namespace hz::test
