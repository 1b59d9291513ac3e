// SPDX-License-Identifier: Apache-2.0
// Near names: what a mistyped name may have meant, for messages.
#pragma once
#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

namespace hz {

// Insertions, deletions, changes and swaps of neighbours that turn a into b; upper and lower case are equal,
// and so are '-' and '_'.
std::size_t edit_distance(std::string_view a, std::string_view b);

// At most `most` of the names, nearest first, those at equal distance in the given order.
std::vector<std::string_view> nearest(std::string_view name, std::span<const std::string_view> names, std::size_t most);

// The one name that was probably meant: within a third of its length, at least one edit. Empty when none is.
std::string_view meant(std::string_view name, std::span<const std::string_view> names);

}  // namespace hz
