// SPDX-License-Identifier: Apache-2.0
// RunLog: lines, event records and the picture of a run.
#include "hanzo/train/run_log.hpp"

#include <sys/stat.h>

#include <cmath>
#include <cstring>
#include <fstream>
#include <iterator>

#include "hanzo/core/error.hpp"
#include "tests/catch.hpp"
#include "tests/temp_dir.hpp"

using namespace hz;
using namespace hz::test;
using namespace hz::train;

namespace {

std::string content(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}
MetricRow row(std::int64_t step, double loss) {
  MetricRow r;
  r.step = step;
  r.loss = loss;
  r.lr = 1e-4;
  return r;
}
std::size_t events_in(const std::string& file) {
  std::size_t n = 0;
  for (std::size_t at = 0; at < file.size(); ++n) {
    std::uint64_t length = 0;
    std::uint32_t crc = 0;
    REQUIRE(at + 16 <= file.size());
    std::memcpy(&length, file.data() + at, 8);
    std::memcpy(&crc, file.data() + at + 8, 4);
    const std::uint32_t want = crc32c(file.substr(at, 8));
    CHECK(crc == ((want >> 15) | (want << 17)) + 0xa282ead8u);
    at += 16 + length;
  }
  return n;
}

}  // namespace

TEST_CASE("CRC-32C has the values of RFC 3720", "[train]") {
  CHECK(crc32c(std::string(32, '\0')) == 0x8a9136aau);
  CHECK(crc32c(std::string(32, '\xff')) == 0x62a8ab43u);
  CHECK(crc32c("123456789") == 0xe3069283u);
}

TEST_CASE("an event record holds its step and values in TensorFlow's messages", "[train]") {
  const std::string r = tensorboard_record(row(300, 2.5), 1.5);
  std::uint64_t length = 0;
  std::memcpy(&length, r.data(), 8);
  REQUIRE(r.size() == length + 16);
  const std::string data = r.substr(12, length);
  CHECK(data.substr(0, 1) == "\x09");                       // wall_time, a double
  CHECK(data.substr(9, 3) == std::string("\x10\xac\x02"));  // step 300
  CHECK(data[12] == '\x2a');                                // summary
  const std::size_t tag = data.find("train/loss");
  REQUIRE(tag != std::string::npos);
  float value = 0;
  CHECK(data[tag + 10] == '\x15');  // simple_value, a float
  std::memcpy(&value, data.data() + tag + 11, 4);
  CHECK(value == 2.5f);
}

TEST_CASE("a log that goes on drops what will be measured again, and a line that was cut", "[train]") {
  const TempDir dir;
  {
    RunLog log(dir.path(), 0);
    for (int i = 1; i <= 5; ++i) log.add(row(i, 6.0 - i));
  }
  std::ofstream(dir.path() / "metrics.jsonl", std::ios::app) << "{\"step\": 6, \"lo";
  RunLog log(dir.path(), 3);
  CHECK(log.rows().size() == 3);
  MetricRow eval;
  eval.step = 3;
  eval.eval_loss = 1.25;
  log.add(eval);
  log.add(row(4, std::nan("")));
  const std::string lines = content(dir.path() / "metrics.jsonl");
  CHECK(std::count(lines.begin(), lines.end(), '\n') == 5);
  CHECK(lines.find("\"eval_loss\":1.25") != std::string::npos);
  CHECK(lines.find("\"loss\":null") != std::string::npos);
  CHECK(events_in(content(dir.path() / "events.out.tfevents.0000000000.hanzo")) == 6);  // the header too
  CHECK(RunLog(dir.path(), 9).rows().back().step == 4);
  CHECK(RunLog(dir.path(), 4, false).rows().size() == 5);  // an evaluation that was made once more would stand there twice
  CHECK(RunLog(dir.path(), 3).rows().size() == 4);
  CHECK(RunLog(dir.path(), 3, false).rows().size() == 3);
  log.write_picture();
  const std::string svg = content(dir.path() / "loss.svg");
  CHECK(svg.find("<svg") == 0);
  CHECK(svg.find("id='training loss'") != std::string::npos);
  CHECK(svg.find("<circle") != std::string::npos);
  CHECK(svg.find("nan") == std::string::npos);
}

TEST_CASE("a log that is no regular file is refused, not waited for", "[train]") {
  const TempDir dir;
  REQUIRE(::mkfifo((dir.path() / "metrics.jsonl").c_str(), 0600) == 0);
  CHECK_THROWS_AS(RunLog(dir.path(), 0), Error);
}

TEST_CASE("a picture of nothing is a picture", "[train]") {
  CHECK(loss_picture({}).find("</svg>") != std::string::npos);
  CHECK(loss_picture({row(1, 2.0)}).find("nan") == std::string::npos);
  CHECK_THROWS_AS(parse_metric_line("{}"), Error);
}
