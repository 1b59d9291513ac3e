// SPDX-License-Identifier: Apache-2.0
// ReadMode: how the bytes of a model file come into memory.
#pragma once

namespace hz::io {

// map: read-only pages on demand (hold a MapGuard where the file may change); read: a private copy, safe if it does.
enum class ReadMode { map, read };

}  // namespace hz::io
