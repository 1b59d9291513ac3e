// SPDX-License-Identifier: Apache-2.0
// Console text and exit codes: what needs no process of its own (tests/tools/behaviour.py has the rest).
#include "tools/common/console.hpp"

#include "tests/catch.hpp"
#include "tools/common/exit_code.hpp"

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

}  // namespace hz::tools
