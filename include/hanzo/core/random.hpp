// SPDX-License-Identifier: Apache-2.0
// Counter-based random numbers: Philox4x32-10 (Salmon et al., SC 2011). A number is a function of
// (seed, stream, position); nothing is consumed, so batching and resuming change nothing.
#pragma once
#include <array>
#include <cstdint>

namespace hz {

struct Seed {
  std::uint64_t value = 0;
};

// Four 32-bit words for key `seed` and counter (stream, position).
constexpr std::array<std::uint32_t, 4> philox(std::uint64_t seed, std::uint64_t stream, std::uint64_t position) {
  std::uint32_t k0 = static_cast<std::uint32_t>(seed), k1 = static_cast<std::uint32_t>(seed >> 32);
  std::array<std::uint32_t, 4> c{static_cast<std::uint32_t>(position), static_cast<std::uint32_t>(position >> 32),
                                 static_cast<std::uint32_t>(stream), static_cast<std::uint32_t>(stream >> 32)};
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t p0 = 0xD2511F53ull * c[0], p1 = 0xCD9E8D57ull * c[2];
    c = {static_cast<std::uint32_t>(p1 >> 32) ^ c[1] ^ k0, static_cast<std::uint32_t>(p1),
         static_cast<std::uint32_t>(p0 >> 32) ^ c[3] ^ k1, static_cast<std::uint32_t>(p0)};
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  return c;
}

// Uniform in [0, 1) with 24 bits.
constexpr float uniform(std::uint64_t seed, std::uint64_t stream, std::uint64_t position) {
  return static_cast<float>(philox(seed, stream, position)[0] >> 8) * 0x1p-24f;
}

}  // namespace hz
