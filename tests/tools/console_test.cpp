// SPDX-License-Identifier: Apache-2.0
// Console text and exit codes: what needs no process of its own (tests/tools/behaviour.py has the rest).
#include "tools/common/console.hpp"

#include <filesystem>

#include "hanzo/io/atomic_file.hpp"
#include "tests/catch.hpp"
#include "tests/errors.hpp"
#include "tests/temp_dir.hpp"
#include "tests/text/synthetic.hpp"
#include "tools/common/exit_code.hpp"
#include "tools/common/prompt.hpp"

namespace hz::tools {

TEST_CASE("text from outside cannot steer the terminal") {
  CHECK(printable("plain\ttext\n") == "plain\ttext\n");
  CHECK(printable("\x1b[2J\x07") == "\\x1b[2J\\x07");
  CHECK(printable("\xc2\x9b" "31m\x7f") == "\\x9b" "31m\\x7f");  // CSI as one C1 character
  CHECK(printable("gr\xc3\xbc\xc3\x9f \xe2\x82\xac") == "gr\xc3\xbc\xc3\x9f \xe2\x82\xac");
}

TEST_CASE("every kind of error has its exit code") {
  CHECK(exit_code(ErrorKind::usage) == 2);
  CHECK(exit_code(ErrorKind::bad_file) == 3);
  CHECK(exit_code(ErrorKind::io) == 3);
  CHECK(exit_code(ErrorKind::out_of_memory) == 4);
  CHECK(exit_code(ErrorKind::cancelled) == 130);
  CHECK(exit_code(ErrorKind::failed) == 1);
  CHECK(exit_code(ErrorKind::unsupported) == 1);
}

TEST_CASE("a text file may be empty or a FIFO, but no device without end and no more than is wanted") {
  const test::TempDir dir;
  const auto file = (dir.path() / "text").string();
  const Console console({.quiet = true});
  io::write_file(file, "hello");
  CHECK(read_text_file(file, console, 5) == "hello");
  const Error large = test::error_of_call([&] { read_text_file(file, console, 4); });
  CHECK(large.kind() == ErrorKind::bad_file);
  std::filesystem::resize_file(file, std::uintmax_t{1} << 40);  // known by its size, before it is read
  CHECK(std::string(test::error_of_call([&] { read_text_file(file, console); }).what()).find("more than 1 GiB") != std::string::npos);
  CHECK(read_text_file("/dev/null", console).empty());
  const Error device = test::error_of_call([&] { read_text_file("/dev/zero", console); });
  CHECK(device.kind() == ErrorKind::bad_file);
  CHECK(std::string(device.what()) == "this is a device, not a file");
  CHECK(device.where() == "/dev/zero");
  CHECK(std::string(test::error_of_call([&] { read_text_file(dir.path().string(), console); }).what()) == "this is a folder, not a file");
}

TEST_CASE("a stop ends the tokenizing of a text file") {
  const auto tokenizer = test::small_bpe_tokenizer();
  std::string text;
  for (int i = 0; i < 20000; ++i) text += " hello world";
  std::stop_source stop;
  CHECK(tokens_of_text(*tokenizer, text, stop.get_token()).size() > 1000);
  stop.request_stop();
  CHECK(test::error_of_call([&] { tokens_of_text(*tokenizer, text, stop.get_token()); }).kind() == ErrorKind::cancelled);
}

}  // namespace hz::tools
