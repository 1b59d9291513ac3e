// SPDX-License-Identifier: Apache-2.0
// RowReader and parse_json: rows of good and of broken files, with the line of each.
#include "hanzo/io/jsonl.hpp"

#include <nlohmann/json.hpp>

#include "hanzo/io/sha256.hpp"
#include "tests/catch.hpp"
#include "tests/io/raw_gguf.hpp"
#include "tests/temp_dir.hpp"

using namespace hz;
using namespace hz::io;
using namespace hz::test;

namespace {

// "LINE:TEXT|..." of all rows; a row that was cut ends with "~". Errors end the list.
std::string rows_of(const std::string& bytes, std::size_t limit = 1000, RowReader::Layout layout = RowReader::Layout::automatic) {
  static const TempDir dir;
  const auto path = dir.path() / "d.jsonl";
  put_file(path, bytes);
  std::string all;
  try {
    RowReader reader(path, layout, limit);
    while (const auto row = reader.next()) all += std::to_string(row->line) + ":" + std::string(row->text) + (row->too_long ? "~|" : "|");
    if (reader.sha256() != Sha256().update(bytes).hex()) all += "another hash";
  } catch (const Error& e) {
    all += without_folders("! " + std::string(e.what()) + " in " + e.where());
  }
  return all;
}

std::string fault_of(const std::string& text) {
  return error_of([&] { parse_json(text); });
}
bool says(const std::string& message, const std::string& part) {
  if (message.find(part) != std::string::npos) return true;
  WARN("got: " << message);
  return false;
}

}  // namespace

TEST_CASE("lines: blank ones, CRLF, a byte order mark and a missing last line end change no row", "[jsonl]") {
  CHECK(rows_of("{\"a\":1}\n{\"b\":2}\n") == "1:{\"a\":1}|2:{\"b\":2}|");
  CHECK(rows_of("\xef\xbb\xbf{}\r\n\r\n  \t\n{}\r\n{}") == "1:{}|4:{}|5:{}|");
  CHECK(rows_of("") == "");
  CHECK(rows_of("\n\n\n") == "");
  CHECK(rows_of("a\rb\n") == "1:a\rb|");
}

TEST_CASE("a line beyond the limit is cut, and the next one is whole", "[jsonl]") {
  CHECK(rows_of("123456789\nab\n", 5) == "1:12345~|2:ab|");
  CHECK(rows_of("12345\nab\n", 5) == "1:12345|2:ab|");
  const std::string huge(3'000'000, 'x');
  CHECK(rows_of(huge + "\nend\n", 3) == "1:xxx~|2:end|");
  CHECK(rows_of(huge + "\nend\n", 4'000'000) == "1:" + huge + "|2:end|");
}

TEST_CASE("an array gives its elements with the lines they begin in", "[jsonl]") {
  CHECK(rows_of("[\n {\"a\": [1, 2]},\n {\"b\": \"],\\\"\"}\n]\n") == "2:{\"a\": [1, 2]}|3:{\"b\": \"],\\\"\"}\n|");
  CHECK(rows_of("[]") == "");
  CHECK(rows_of(" [1,2]") == "1:1|1:2|");
  CHECK(rows_of("[{\"a\":\"0123456789\"},{}]", 8) == "1:{\"a\":\"01~|1:{}|");
  CHECK(rows_of("[{}\n{}]") == "1:{}\n{}|");  // no comma: the element's text is no JSON
  CHECK(says(rows_of("[{},\n"), "a row was expected in d.jsonl, line 2"));
  CHECK(says(rows_of("[{\n"), "not closed"));
  CHECK(says(rows_of("[{}] x"), "more after the end"));
  CHECK(says(rows_of("[{},]"), "a row was expected"));
  CHECK(says(rows_of("{}", 100, RowReader::Layout::array), "an array of rows was expected"));
}

TEST_CASE("what is no text is named by what it is", "[jsonl]") {
  CHECK(says(rows_of("\x1f\x8b\x08"), "gzip"));
  CHECK(says(rows_of(std::string("\xff\xfe{\0", 4)), "UTF-16"));
  CHECK(says(rows_of("PK\x03\x04"), "zip"));
  CHECK(says(rows_of("GGUFxxxx"), "model"));
}

TEST_CASE("JSON is read strictly, and the column of a fault is named", "[jsonl]") {
  CHECK(parse_json("{\"b\": 1, \"a\": \"\\ud83e\\udd99\"}").dump() == "{\"b\":1,\"a\":\"\xf0\x9f\xa6\x99\"}");
  CHECK(says(fault_of("{\"a\":1,}"), "column 8"));
  CHECK(says(fault_of("{} {}"), "column 4"));
  CHECK(says(fault_of("{\"a\":NaN}"), "column 6"));
  CHECK(says(fault_of("{\"a\":1e999}"), "number overflow"));
  CHECK(says(fault_of("{\"a\":\"\\ud800\"}"), "surrogate"));
  CHECK(says(fault_of("{\"a\":\"\xc0\xaf\"}"), "column 7 are no UTF-8"));
  CHECK(says(fault_of(std::string("{\"a\":1}\0", 8)), "NUL byte at column 8"));
  CHECK(says(fault_of("{\"a\":1,\"b\":{\"a\":2,\"a\":3}}"), "\"a\" occurs twice"));
  CHECK(says(fault_of(std::string(101, '[') + std::string(101, ']')), "nested"));
  CHECK_NOTHROW(parse_json(std::string(100, '[') + std::string(100, ']')));
  std::string many = "{";
  for (int i = 0; i < 5000; ++i) many += "\"" + std::to_string(i) + "\":0,";
  many.back() = '}';
  CHECK(says(fault_of(many), "more than 4096 keys"));
  CHECK(says(fault_of(""), "column 1"));
}
