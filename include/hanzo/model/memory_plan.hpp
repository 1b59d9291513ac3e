// SPDX-License-Identifier: Apache-2.0
// What a model will take of the machine's memory, known before any of it is allocated.
#pragma once
#include <cstdint>

#include "hanzo/quant/wtype.hpp"

namespace hz::model {

// Bytes. Mapped weights that no panel replaces count nothing: the system can drop their pages.
struct MemoryPlan {
  std::int64_t context = 0;      // positions
  std::uint64_t weights = 0;
  std::uint64_t work = 0;        // temporaries of a prompt chunk of 512 tokens
  std::uint64_t position = 0;    // KV cache and rope tables of one position
  std::uint64_t for_context() const { return static_cast<std::uint64_t>(context) * position; }
  std::uint64_t total() const { return weights + work + for_context(); }
};

// Bytes beyond `bytes` of weights of this type that their panels may take (hanzo/quant/format/expanded.h); 0 for most types.
std::uint64_t expansion(WType type, std::uint64_t bytes);

// Throws Error(out_of_memory) when the plan does not fit `available` bytes, naming the largest context that does.
void check_memory(const MemoryPlan& plan, std::uint64_t available);

}  // namespace hz::model
