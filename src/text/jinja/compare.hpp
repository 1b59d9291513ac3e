// SPDX-License-Identifier: Apache-2.0
// Equality, order, membership, truth and hashes of values, with Python's rules.
#pragma once
#include <compare>
#include <cstddef>
#include <string_view>

#include "src/text/jinja/value.hpp"

namespace hz::text::jinja {

bool truthy(const Value& v);
bool equal(Heap& heap, const Value& a, const Value& b);
// a <=> b; throws Fault naming `op` where Python has no order. Unordered only with NaN.
std::partial_ordering order(Heap& heap, const Value& a, const Value& b, std::string_view op);
// The operator `item in container`.
bool contains(Heap& heap, const Value& container, const Value& item);
// Equal values have equal hashes. Throws Fault for values that cannot be keys.
std::size_t hash_of(Heap& heap, const Value& v);
std::size_t hash_of(std::string_view text);

// Deepest nesting that comparing, printing and reading JSON follow.
constexpr int kMaxValueDepth = 128;

// A failed operation on an undefined value, with jinja's explanation of what was undefined.
[[noreturn]] void throw_undefined(const Value& v);

}  // namespace hz::text::jinja
