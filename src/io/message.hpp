// SPDX-License-Identifier: Apache-2.0
// Text for error messages about files: readable numbers, and names from a file made safe to print.
#pragma once
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "hanzo/core/error.hpp"

namespace hz::io {

// 25362432 -> "25,362,432"
std::string grouped(std::uint64_t n);
// Text from a file for a terminal: control characters and bytes that are not UTF-8 become \xNN; long text is cut.
std::string printable(std::string_view text, std::size_t limit = 96);
// True when `text` is well-formed UTF-8 (no surrogates, no overlong forms).
bool valid_utf8(std::string_view text);
// The name of a file as messages show it: the path as it was given.
std::string shown(const std::filesystem::path& file);
// Why the JSON parser refused a text, from its exception's what(): without the parser's own names, with the line and column where
// `place` is set.
std::string json_reason(std::string what, bool place);
// Error(io) for a failed system call: "cannot DOING: REASON", with errno's text as the reason.
Error system_error(std::string_view doing, int error_number, const std::filesystem::path& file);

}  // namespace hz::io
