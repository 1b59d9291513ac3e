// SPDX-License-Identifier: Apache-2.0
// Progress: reports reach the caller, a stop request becomes an error, and both may be left out.
#include "hanzo/core/progress.hpp"

#include <string>

#include "hanzo/core/error.hpp"
#include "tests/catch.hpp"

namespace hz {

TEST_CASE("progress passes stage and counts on") {
  std::string seen;
  Progress progress;
  progress.report = [&](std::string_view stage, std::uint64_t done, std::uint64_t total) {
    seen += std::string(stage) + " " + std::to_string(done) + "/" + std::to_string(total);
  };
  progress("load", 3, 9);
  CHECK(seen == "load 3/9");
}

TEST_CASE("a default progress is silent and never stops") {
  const Progress progress;
  progress("load", 1, 2);
  CHECK_NOTHROW(progress.check("load"));
}

TEST_CASE("a stop request becomes a cancelled error that names the stage") {
  std::stop_source stop;
  Progress progress;
  progress.stop = stop.get_token();
  CHECK_NOTHROW(progress.check("quantize"));
  stop.request_stop();
  try {
    progress.check("quantize");
    FAIL("the stop was ignored");
  } catch (const Error& e) {
    CHECK(e.kind() == ErrorKind::cancelled);
    CHECK(std::string(e.what()).find("quantize") != std::string::npos);
  }
}

}  // namespace hz
