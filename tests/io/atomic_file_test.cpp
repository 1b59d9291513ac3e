// SPDX-License-Identifier: Apache-2.0
// AtomicFile: whole or not at all, and nothing left behind.
#include "hanzo/io/atomic_file.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/catch.hpp"
#include "tests/io/raw_gguf.hpp"
#include "tests/temp_dir.hpp"

namespace fs = std::filesystem;
using namespace hz;
using namespace hz::io;
using namespace hz::test;

namespace {
std::size_t entries(const fs::path& folder) { return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder), {})); }
}  // namespace

TEST_CASE("an atomic file appears at commit and leaves no temporary") {
  const TempDir dir;
  const fs::path target = dir.path() / "out.bin";
  AtomicFile file(target);
  const std::string large(700'000, 'x');
  file.write("head ");
  file.write(large);
  file.pad(5000);
  CHECK(file.position() == 5 + large.size() + 5000);
  CHECK_FALSE(fs::exists(target));
  file.commit();
  CHECK(get_file(target) == "head " + large + std::string(5000, '\0'));
  CHECK(entries(dir.path()) == 1);
  CHECK_THROWS_AS(file.write("more"), Error);
  CHECK_THROWS_AS(file.commit(), Error);
}

TEST_CASE("an atomic file that is not committed leaves the old file and no temporary") {
  const TempDir dir;
  const fs::path target = dir.path() / "out.bin";
  put_file(target, "old");
  {
    AtomicFile file(target);
    file.write("new");
  }
  CHECK(get_file(target) == "old");
  CHECK(entries(dir.path()) == 1);
}

TEST_CASE("an atomic file keeps permissions and follows a link") {
  const TempDir dir;
  put_file(dir.path() / "real", "old");
  fs::permissions(dir.path() / "real", fs::perms::owner_read | fs::perms::owner_write);
  fs::create_symlink(dir.path() / "real", dir.path() / "link");
  write_file(dir.path() / "link", "new");
  CHECK(fs::is_symlink(dir.path() / "link"));
  CHECK(get_file(dir.path() / "real") == "new");
  CHECK(fs::status(dir.path() / "real").permissions() == (fs::perms::owner_read | fs::perms::owner_write));
}

TEST_CASE("an atomic file refuses folders, devices and folders that do not exist") {
  const TempDir dir;
  CHECK(error_of([&] { AtomicFile f(dir.path()); }).find("cannot write: this is a folder") == 0);
  CHECK(error_of([&] { AtomicFile f("/dev/null"); }).find("cannot write: this is not a regular file") == 0);
  CHECK(error_of([&] {
          AtomicFile f(dir.path() / "no" / "x");
        }).find("cannot make a file in this folder: No such file or directory | no/x") == 0);
}

TEST_CASE("two atomic files for one target do not disturb each other") {
  const TempDir dir;
  const fs::path target = dir.path() / "out";
  AtomicFile a(target), b(target);
  a.write("first");
  b.write("second");
  b.commit();
  a.commit();
  CHECK(get_file(target) == "first");
  CHECK(entries(dir.path()) == 1);
}

TEST_CASE("what a killed process left is removed by the next file in the folder, what others write now is not") {
  const TempDir dir;
  put_file(dir.path() / ".hanzo-note", "not one of these");
  AtomicFile busy(dir.path() / "busy");
  busy.write("being written");
  const pid_t child = ::fork();
  if (child == 0) {
    AtomicFile file(dir.path() / "killed");
    file.write("half");
    ::kill(::getpid(), SIGKILL);
  }
  REQUIRE(child > 0);
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  REQUIRE(WIFSIGNALED(status));
  CHECK(entries(dir.path()) == 3);  // the note, the busy one, the stale one
  write_file(dir.path() / "next", "whole");
  CHECK(entries(dir.path()) == 3);
  busy.commit();
  CHECK(get_file(dir.path() / "busy") == "being written");
  CHECK(get_file(dir.path() / "next") == "whole");
  CHECK(fs::exists(dir.path() / ".hanzo-note"));
}

TEST_CASE("whether a file can be written is known without writing it") {
  const TempDir dir;
  put_file(dir.path() / "old", "old");
  check_writable(dir.path() / "old");
  check_writable(dir.path() / "new");
  CHECK(get_file(dir.path() / "old") == "old");
  CHECK(entries(dir.path()) == 1);
  CHECK_THROWS_AS(check_writable(dir.path()), Error);
  CHECK_THROWS_AS(check_writable(dir.path() / "none" / "x"), Error);
}
