// SPDX-License-Identifier: Apache-2.0
// Blocks of random bytes: every bit pattern of a format, also those that no encoder writes.
#pragma once
#include <cstring>
#include <random>

#include "hanzo/quant/visit.hpp"

namespace hz::test {

// The i-th block of a fixed sequence; the first ones are all bits clear and all bits set.
template <class W>
typename W::Block random_block(int i) {
  typename W::Block b;
  unsigned char bytes[sizeof b];
  std::mt19937 rng(static_cast<unsigned>(i) * 7919u + sizeof b);
  for (unsigned char& c : bytes) c = i == 0 ? 0 : i == 1 ? 255 : static_cast<unsigned char>(rng());
  std::memcpy(&b, bytes, sizeof b);
  return b;
}

}  // namespace hz::test
