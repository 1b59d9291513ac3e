// SPDX-License-Identifier: Apache-2.0
// The list of mapped files that MapGuard's signal handler looks faults up in.
#pragma once
#include <cstddef>
#include <filesystem>

namespace hz::io {

struct MappedRange;
// The range must be added before it is first read, and removed before it is unmapped.
MappedRange* add_mapped_range(void* at, std::size_t bytes, const std::filesystem::path& file);
void remove_mapped_range(MappedRange* range) noexcept;

}  // namespace hz::io
