// SPDX-License-Identifier: Apache-2.0
// String literals: Python's backslash escapes.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace hz::text::jinja {

// Throws SyntaxFault naming `line`.
std::string unescape(std::string_view body, std::uint32_t line);

}  // namespace hz::text::jinja
