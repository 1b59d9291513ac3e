// SPDX-License-Identifier: Apache-2.0
// Asking for memory before it is read. Never faults: addresses past an object's end are harmless.
#pragma once

namespace hz::cpu {
inline namespace HZ_UNIT {

HZ_FN void prefetch_bytes(const void* p, size_t n) {
  for (size_t i = 0; i < n; i += 64) prefetch((const char*)p + i);
}

}  // namespace HZ_UNIT
}  // namespace hz::cpu
