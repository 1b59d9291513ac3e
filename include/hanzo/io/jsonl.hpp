// SPDX-License-Identifier: Apache-2.0
// Lines and rows of a data file: JSONL, or the elements of a JSON array, one at a time in bounded memory.
#pragma once
#include <cstdint>
#include <filesystem>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

namespace hz::io {

struct RowText {
  std::int64_t line = 0;  // of the file, from 1: where the row begins
  std::string_view text;  // valid until the next call; without the line's end and a byte order mark
  bool too_long = false;  // longer than the limit: `text` is its beginning, and the rest was passed over
};

class RowReader {
 public:
  // lines: every line that is not blank (LF or CRLF). array: every element of the array that is the whole file.
  // automatic: array when the first character is '[', else lines.
  enum class Layout { automatic, lines, array };
  // Throws Error(io), or bad_file for what no text begins with (gzip, zip, UTF-16).
  explicit RowReader(const std::filesystem::path& file, Layout layout = Layout::automatic,
                     std::size_t max_row_bytes = std::size_t{64} << 20);
  ~RowReader();
  RowReader(RowReader&&) noexcept;
  RowReader& operator=(RowReader&&) noexcept;

  // nullopt at the end. Throws bad_file, naming the line, where an array's own syntax is broken; that ends the reading.
  std::optional<RowText> next();
  Layout layout() const;
  std::uint64_t position() const;  // bytes read so far
  std::uint64_t size() const;      // of the file
  std::string sha256() const;      // of the bytes read so far: of the file, at the end

 private:
  struct Body;
  std::unique_ptr<Body> body_;
};

// Strict JSON: no NaN or Infinity, no numbers out of range, valid UTF-8, no key twice in one object, nesting of at most
// 100, at most 4096 keys in an object. Throws Error(bad_file) that names the column, without a place.
nlohmann::ordered_json parse_json(std::string_view text);

}  // namespace hz::io
