// SPDX-License-Identifier: Apache-2.0
// Rows of a data file: cut at line ends, or at the commas of an array.
#include "hanzo/io/jsonl.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "hanzo/io/sha256.hpp"
#include "src/io/input_file.hpp"
#include "src/io/message.hpp"

namespace hz::io {
namespace {

constexpr std::size_t kPiece = std::size_t{256} << 10;  // bytes read at a time

bool blank(std::string_view s) { return s.find_first_not_of(" \t\r\n\v\f") == std::string_view::npos; }
bool blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

struct Magic {
  std::string_view bytes, what;
};
constexpr Magic kMagics[] = {
    {"\x1f\x8b", "is compressed (gzip)"},
    {"\x28\xb5\x2f\xfd", "is compressed (zstd)"},
    {"PK\x03\x04", "is a zip archive"},
    {std::string_view("\xff\xfe", 2), "is UTF-16, not UTF-8"},
    {std::string_view("\xfe\xff", 2), "is UTF-16, not UTF-8"},
    {"PAR1", "is Parquet, not text"},
    {"GGUF", "is a model, not data"},
};

}  // namespace

struct RowReader::Body {
  InputFile file;
  Layout layout;
  std::size_t max_row;
  std::string piece;       // the bytes being cut
  std::size_t at = 0;      // next byte of `piece`
  std::uint64_t done = 0;  // bytes of the file in pieces so far
  std::int64_t line = 1;
  std::string row;
  bool cut = false, ended = false, opened = false;
  Sha256 hash;

  Body(const std::filesystem::path& path, Layout l, std::size_t max) : file(path), layout(l), max_row(max) {}

  bool fill() {
    if (at < piece.size()) return true;
    const auto n = static_cast<std::size_t>(std::min<std::uint64_t>(kPiece, file.size() - done));
    piece.resize(n);
    at = 0;
    if (n == 0) return false;
    file.read(done, std::as_writable_bytes(std::span(piece)));
    hash.update(piece);
    done += n;
    return true;
  }
  void keep(std::string_view text) {
    const std::size_t room = max_row - std::min(max_row, row.size());
    cut = cut || text.size() > room;
    row.append(text.substr(0, room));
  }
  [[noreturn]] void fail(const std::string& what) {
    ended = true;
    throw Error(ErrorKind::bad_file, what, shown(file.path()) + ", line " + std::to_string(line));
  }
  void begin();
  bool next_line();
  std::optional<std::int64_t> next_element();
  char skip_blanks();
};

void RowReader::Body::begin() {
  if (!fill()) return;
  for (const Magic& m : kMagics)
    if (std::string_view(piece).starts_with(m.bytes))
      throw Error(ErrorKind::bad_file, "the file " + std::string(m.what), shown(file.path()) + ", line 1",
                  "give JSONL, JSON or text in UTF-8");
  if (std::string_view(piece).starts_with("\xef\xbb\xbf")) at = 3;
  if (layout != Layout::automatic) return;
  const std::size_t first = piece.find_first_not_of(" \t\r\n", at);
  layout = first != std::string::npos && piece[first] == '[' ? Layout::array : Layout::lines;
}

// The next line into `row`; false at the end of the file.
bool RowReader::Body::next_line() {
  row.clear();
  cut = false;
  if (!fill()) return false;
  while (fill()) {
    const std::size_t end = piece.find('\n', at);
    keep(std::string_view(piece).substr(at, end == std::string::npos ? end : end - at));
    at = end == std::string::npos ? piece.size() : end + 1;
    if (end != std::string::npos) break;
  }
  if (!cut && row.ends_with('\r')) row.pop_back();
  return true;
}

// The next byte that is no blank, left in place; 0 at the end.
char RowReader::Body::skip_blanks() {
  while (fill()) {
    const char c = piece[at];
    if (!blank(c)) return c;
    line += c == '\n';
    ++at;
  }
  return 0;
}

// The next element of the array into `row`; the line where it begins. Only strings and brackets are looked at.
std::optional<std::int64_t> RowReader::Body::next_element() {
  row.clear();
  cut = false;
  char c = skip_blanks();
  if (!opened) {
    if (c != '[') fail("an array of rows was expected");
    ++at;
    opened = true;
    c = skip_blanks();
    if (c == ']') ended = true;
  } else if (c == ',') {
    ++at;
    c = skip_blanks();
  } else if (c == ']') {
    ended = true;
  } else {
    fail(c == 0 ? "the array of rows is not closed" : "a comma or the end of the array was expected");
  }
  if (ended) {
    ++at;
    if (skip_blanks() != 0) fail("there is more after the end of the array");
    return std::nullopt;
  }
  if (c == ',' || c == ']' || c == 0) fail("a row was expected");
  const std::int64_t begin = line;
  int depth = 0;
  bool in_string = false, escaped = false;
  while (fill()) {
    const char d = piece[at];
    if (!in_string && depth == 0 && (d == ',' || d == ']')) return begin;
    line += d == '\n';
    if (in_string) {
      in_string = escaped || d != '"';
      escaped = !escaped && d == '\\';
    } else if (d == '"') {
      in_string = true;
    } else if (d == '[' || d == '{') {
      ++depth;
    } else if (d == ']' || d == '}') {
      --depth;
    }
    keep({&d, 1});
    ++at;
  }
  fail("the array of rows is not closed");
}

RowReader::RowReader(const std::filesystem::path& file, Layout layout, std::size_t max_row_bytes)
    : body_(std::make_unique<Body>(file, layout, max_row_bytes)) {
  body_->begin();
}
RowReader::~RowReader() = default;
RowReader::RowReader(RowReader&&) noexcept = default;
RowReader& RowReader::operator=(RowReader&&) noexcept = default;

std::optional<RowText> RowReader::next() {
  Body& b = *body_;
  if (b.ended) return std::nullopt;
  if (b.layout == Layout::array) {
    const auto line = b.next_element();
    if (!line) return std::nullopt;
    return RowText{*line, b.row, b.cut};
  }
  while (b.next_line()) {
    const std::int64_t line = b.line++;
    if (!blank(b.row)) return RowText{line, b.row, b.cut};
  }
  b.ended = true;
  return std::nullopt;
}

RowReader::Layout RowReader::layout() const { return body_->layout; }
std::uint64_t RowReader::position() const { return body_->done; }
std::uint64_t RowReader::size() const { return body_->file.size(); }
std::string RowReader::sha256() const { return body_->hash.hex(); }

}  // namespace hz::io
