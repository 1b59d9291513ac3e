// SPDX-License-Identifier: Apache-2.0
// How batches address the paged KV cache.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "hanzo/backend/kinds.hpp"

namespace hz {

constexpr std::int64_t kKvPage = 64;  // positions per page; page index = position / 64

// One layer's share of a page: for each kv head K [head_dim] and V [value_dim] of 64 positions.
struct KvLayout {
  KvKind kind = KvKind::f16;
  int heads = 0;
  int head_dim = 0, value_dim = 0;
  friend bool operator==(const KvLayout&, const KvLayout&) = default;
};

// Consecutive tokens of one sequence within a batch.
struct KvSegment {
  std::int64_t row = 0;       // first row of the batch
  std::int64_t count = 0;
  std::int64_t position = 0;  // of the first token in its sequence
  std::int64_t visible_from = 0;            // first position of the sequence that may be attended to
  const std::byte* const* pages = nullptr;  // page table of the sequence: base of each page, all layers
  std::shared_ptr<const void> pin = {};     // keeps table and pages: set under a tape, whose gradients read them
};

// Where a layer finds its part of each page.
struct KvBatch {
  KvLayout layout;
  std::size_t layer_offset = 0;  // bytes from the base of a page
  std::span<const KvSegment> segments;
};

}  // namespace hz
