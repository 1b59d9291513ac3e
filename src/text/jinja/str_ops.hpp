// SPDX-License-Identifier: Apache-2.0
// String operations shared by methods and filters. All keep the origin of every byte, and Markup.
#pragma once
#include <string_view>

#include "src/text/jinja/builder.hpp"
#include "src/text/jinja/unicode.hpp"

namespace hz::text::jinja {

enum class Recase : std::uint8_t { upper, lower, fold, swap, capitalize, title };
Value recase(Heap& heap, const Value& s, Recase how);

// Removes from the ends the code points of `chars` (a string; otherwise whitespace).
Value strip(Heap& heap, const Value& s, const Value& chars, bool left, bool right);

// First position of `needle` in bytes [from, to) of `hay`, or npos. Linear.
std::size_t find_text(std::string_view hay, std::string_view needle, std::size_t from, std::size_t to);
std::size_t find_text_last(std::string_view hay, std::string_view needle, std::size_t from, std::size_t to);
// Code points of text.
std::size_t count_codes(std::string_view text);

// At most `limit` replacements when it is not negative.
Value replace(Heap& heap, const Value& s, const Value& from, const Value& to, std::int64_t limit);

// str.split: on whitespace when `separator` is missing or None.
Values split(Heap& heap, const Value& s, const Value& separator, std::int64_t limit);
Values split_right(Heap& heap, const Value& s, const Value& separator, std::int64_t limit);
Values split_lines(Heap& heap, const Value& s, bool keep_ends);

// Left and right padding by whole `fill` code points.
Value pad(Heap& heap, const Value& s, std::size_t left, std::size_t right, std::string_view fill, Origin origin);
// str.center: how many of `total` padding code points go left.
std::size_t center_left(std::size_t total, std::size_t width);

}  // namespace hz::text::jinja
