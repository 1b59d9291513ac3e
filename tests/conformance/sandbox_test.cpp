// SPDX-License-Identifier: Apache-2.0
// The sandbox tells acceptance, refusal and every kind of death apart.
#include "tests/conformance/sandbox.hpp"

#include <unistd.h>

#include <cstdlib>
#include <stdexcept>
#include <vector>

#include "hanzo/core/error.hpp"
#include "tests/catch.hpp"

using namespace hz::conformance;
using Kind = Outcome::Kind;

TEST_CASE("the sandbox tells acceptance from refusal and keeps the error's text") {
  CHECK(run_limited([] {}).kind == Kind::ok);
  const Outcome o = run_limited([] { throw hz::Error(hz::ErrorKind::bad_file, "no magic", "x.gguf"); });
  CHECK(o.kind == Kind::refused);
  CHECK(o.text() == "error: no magic (in x.gguf)");
}

TEST_CASE("the sandbox survives and names signals, aborts, exits, foreign exceptions and hangs") {
  CHECK(run_limited([] { std::abort(); }).text() == "killed by signal 6");
  CHECK(run_limited([] { std::_Exit(9); }).text() == "exit code 9");
  CHECK(run_limited([] { throw std::out_of_range("index"); }).text() == "an exception other than hz::Error: index");
  CHECK(run_limited([] { throw 5; }).text() == "an exception of unknown type");
  const Outcome o = run_limited([] { while (::pause() != 0) continue; }, {.seconds = 1});
  CHECK(o.kind == Kind::died);
  CHECK(o.text() == "still running after 1 s");
}

TEST_CASE("the sandbox measures and limits memory") {
  if (!memory_limits_apply()) HZ_SKIP("sanitizers keep memory of their own");
  const Outcome small = run_limited([] { throw hz::Error(hz::ErrorKind::bad_file, "x"); });
  const Outcome large = run_limited([] {
    std::vector<char> v(std::size_t{64} << 20, 1);
    throw hz::Error(hz::ErrorKind::bad_file, std::string(1, v.back()));
  });
  CHECK(small.grown_rss < (8u << 20));
  CHECK(large.grown_rss > (60u << 20));
  const Outcome beyond = run_limited([] {
    std::vector<char> v(std::size_t{2} << 30, 1);
    throw hz::Error(hz::ErrorKind::bad_file, std::string(1, v.back()));
  });
  CHECK(beyond.text() == "an exception other than hz::Error: std::bad_alloc");  // of memory, not of time
}

TEST_CASE("under a sanitizer a child is limited in what it takes, not in what was there before") {
  if (memory_limits_apply()) HZ_SKIP("a limit of the address space is of all of it");
  const Limits little{.address_space = std::uint64_t{100} << 20};
  const std::vector<char> before(std::size_t{200} << 20, 1);
  CHECK(run_limited([] {}, little).kind == Kind::ok);
  CHECK(before.back() == 1);
  const Outcome beyond = run_limited([] {
    std::vector<char> v(std::size_t{150} << 20, 1);
    throw hz::Error(hz::ErrorKind::bad_file, std::string(1, v.back()));
  }, little);
  CHECK(beyond.text().find("MiB of memory") != std::string::npos);
  const Outcome left = run_limited([] { std::_Exit(0); });
  CHECK(left.kind == Kind::ok);
  CHECK(left.grown_rss == 0);
}
