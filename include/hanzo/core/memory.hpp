// SPDX-License-Identifier: Apache-2.0
// How much memory this process may still take.
#pragma once
#include <cstdint>

namespace hz {

// The least of what the system can give without swapping (MemAvailable), what the control group leaves (v2
// memory.max, v1 memory.limit_in_bytes; its reclaimable file pages count as free) and what RLIMIT_AS leaves, in
// bytes. UINT64_MAX when none of them is known.
std::uint64_t available_memory();

}  // namespace hz
