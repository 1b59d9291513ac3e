// SPDX-License-Identifier: Apache-2.0
// Random tensors and weights for tests: a function of the seed alone.
#pragma once
#include <cmath>
#include <cstring>
#include <vector>

#include "hanzo/core/random.hpp"
#include "hanzo/quant/format/decode.h"
#include "hanzo/quant/qtensor.hpp"
#include "hanzo/quant/visit.hpp"

namespace hz::test {

// Values in (-1, 1) with a few large ones, as activations have.
inline Tensor random_tensor(const Shape& shape, std::uint64_t seed) {
  Tensor t = Tensor::empty(shape);
  float* p = t.data<float>();
  for (std::int64_t i = 0; i < t.numel(); ++i) {
    const float u = 2 * uniform(seed, 1, static_cast<std::uint64_t>(i)) - 1;
    p[i] = uniform(seed, 2, static_cast<std::uint64_t>(i)) < 0.02f ? u * 30 : u;
  }
  return t;
}

// Token ids below `vocab`.
inline std::vector<std::int32_t> some_ids(std::int64_t n, std::int64_t vocab, std::uint64_t seed = 1) {
  std::vector<std::int32_t> ids;
  for (std::int64_t i = 0; i < n; ++i)
    ids.push_back(static_cast<std::int32_t>(philox(seed, 0, static_cast<std::uint64_t>(i))[0] % static_cast<std::uint64_t>(vocab)));
  return ids;
}

// Random bytes of a format, every block finite and of moderate size (any code, also those no encoder writes). least: the smallest
// size of a weight that is not 0, for measurements: arithmetic below the normal numbers is slow.
inline QTensor random_weights(WType type, const Shape& shape, std::uint64_t seed, float least = 0) {
  const std::size_t bytes = quant::row_bytes(type, shape.back());
  auto storage = allocate_host(bytes * static_cast<std::size_t>(shape.rows()));
  std::uint64_t draw = 0;
  quant::visit(type, [&]<class W>(quant::tag<W>) {
    using Block = typename W::Block;
    const std::size_t count = bytes * static_cast<std::size_t>(shape.rows()) / sizeof(Block);
    for (std::size_t b = 0; b < count; ++b) {
      Block block;
      for (bool ok = false; !ok;) {
        std::byte raw[sizeof(Block)];
        for (std::byte& x : raw) x = static_cast<std::byte>(philox(seed, 3, draw++)[0] & 255u);
        std::memcpy(&block, raw, sizeof block);
        float v[W::kElems] = {};
        ok = W::finite(block);
        if (ok) quant::decode_block<W>(block, v);
        for (int i = 0; ok && i < W::kElems; ++i) ok = std::fabs(v[i]) < 100.0f && (v[i] == 0 || std::fabs(v[i]) >= least);
      }
      std::memcpy(storage->data + b * sizeof(Block), &block, sizeof block);
    }
  });
  return {std::string(name_of(type)), shape, type, storage, 0};
}

inline bool same_bits(const Tensor& a, const Tensor& b) {
  return a.shape() == b.shape() && std::memcmp(a.data<float>(), b.data<float>(), a.nbytes()) == 0;
}

}  // namespace hz::test
