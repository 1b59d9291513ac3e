// SPDX-License-Identifier: Apache-2.0
// Meter: when progress speaks, on a terminal and elsewhere, and what it says.
#include "tools/common/meter.hpp"

#include "tests/catch.hpp"

namespace hz::tools {
namespace {

struct Scene {
  double now = 100;
  std::string text;
  Meter meter;
  explicit Scene(bool terminal) : meter(terminal, [this](std::string_view s) { text += s; }, [this] { return now; }) {}
};

}  // namespace

TEST_CASE("plain progress is one line every five seconds and a last one") {
  Scene s(false);
  for (int i = 0; i <= 96; ++i, s.now += 0.125) s.meter.report("quantize", static_cast<std::uint64_t>(i), 96);
  s.meter.finish();
  CHECK(s.text ==
        "quantize  42%  40 / 96  8.0/s  ETA 0:07\nquantize  83%  80 / 96  8.0/s  ETA 0:02\nquantize 100%  96 / 96  7.9/s  in 0:12\n");
}

TEST_CASE("short work says nothing") {
  for (const bool terminal : {false, true}) {
    Scene s(terminal);
    for (int i = 0; i <= 4; ++i, s.now += 0.1) s.meter.report("load", static_cast<std::uint64_t>(i), 4);
    s.meter.finish();
    CHECK(s.text.empty());
  }
}

TEST_CASE("terminal progress rewrites its line and ends it once") {
  Scene s(true);
  for (int i = 0; i <= 100; ++i, s.now += 0.02) s.meter.report("load", static_cast<std::uint64_t>(i) * 1'000'000, 100'000'000);
  s.meter.finish();
  CHECK(s.text.starts_with("\rload  "));
  CHECK(s.text.find("MB/s  ETA 0:01\x1b[K\r") != std::string::npos);
  CHECK(s.text.ends_with("\rload 100%  100 MB / 100 MB  50 MB/s  in 0:02\x1b[K\n"));
  CHECK(std::count(s.text.begin(), s.text.end(), '\n') == 1);
  CHECK(std::count(s.text.begin(), s.text.end(), '\r') < 20);  // at most ten a second
}

TEST_CASE("other text clears the line and the next report draws it again") {
  Scene s(true);
  s.meter.report("load", 0, 10);
  s.now += 1;
  s.meter.report("load", 5, 10);
  s.text.clear();
  s.meter.clear();
  CHECK(s.text == "\r\x1b[K");
  s.text.clear();
  s.meter.clear();
  CHECK(s.text.empty());
  s.now += 1;
  s.meter.report("load", 6, 10);
  CHECK(s.text.starts_with("\rload  60%"));
}

TEST_CASE("a new stage ends the one before") {
  Scene s(true);
  s.meter.report("load", 0, 10);
  s.now += 1;
  s.meter.report("load", 5, 10);
  s.meter.report("hash", 0, 10);
  CHECK(s.text.ends_with("\n"));
}

TEST_CASE("progress without a total shows count and rate") {
  Scene s(false);
  s.meter.report("train", 0, 0);
  s.now += 10;
  s.meter.report("train", 1234, 0);
  CHECK(s.text == "train 1234  123/s\n");
}

TEST_CASE("bytes and times read as people write them") {
  CHECK(bytes_text(0) == "0 B");
  CHECK(bytes_text(999) == "999 B");
  CHECK(bytes_text(1500) == "1.5 kB");
  CHECK(bytes_text(999'600) == "1.0 MB");
  CHECK(bytes_text(4'976'698'592.0) == "5.0 GB");
  CHECK(bytes_text(1e16) == "10000 TB");
  CHECK(time_text(0.4) == "0:00");
  CHECK(time_text(59.6) == "1:00");
  CHECK(time_text(3 * 3600 + 5 * 60) == "3:05:00");
  CHECK(time_text(1e30) == "--:--");
  CHECK(time_text(-1) == "--:--");
}

}  // namespace hz::tools
