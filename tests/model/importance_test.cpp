// SPDX-License-Identifier: Apache-2.0
// Importance files: written and read back, the older form, sums over texts, hostile files.
#include "hanzo/model/importance.hpp"

#include <fstream>
#include <limits>

#include "hanzo/io/gguf.hpp"
#include "hanzo/io/gguf_writer.hpp"
#include "tests/catch.hpp"
#include "tests/temp_dir.hpp"

using namespace hz;
using namespace hz::model;

namespace {

Importance sample() {
  Importance m;
  m.entries()["blk.0.attn_q.weight"] = {1, 4, {2, 4, 6, 8}, {2}};
  m.entries()["blk.0.ffn_up_exps.weight"] = {2, 3, {1, 2, 3, 0, 0, 0}, {1, 0}};
  m.datasets = {"a.txt"};
  m.chunk_count = 7;
  m.chunk_size = 512;
  return m;
}

void put(std::string& s, std::int32_t v) { s.append(reinterpret_cast<const char*>(&v), 4); }
void put(std::string& s, float v) { s.append(reinterpret_cast<const char*>(&v), 4); }

std::string dat() {
  std::string s;
  put(s, 1);
  put(s, 19);
  s += "blk.0.attn_q.weight";
  put(s, 5);
  put(s, 4);
  for (const float v : {5.0f, 10.0f, 15.0f, 20.0f}) put(s, v);
  put(s, 5);
  put(s, 5);
  s += "a.txt";
  return s;
}

}  // namespace

TEST_CASE("an importance matrix is written as llama.cpp names its parts, and read back") {
  const test::TempDir dir;
  const auto file = dir.path() / "imatrix.gguf";
  sample().write(file);
  const io::Gguf g = io::Gguf::open(file);
  CHECK(g.metadata().require<std::string>("general.type") == "imatrix");
  CHECK(g.metadata().require<std::uint32_t>("imatrix.chunk_count") == 7);
  CHECK(g.metadata().require<std::uint32_t>("imatrix.chunk_size") == 512);
  REQUIRE(g.find("blk.0.attn_q.weight.in_sum2") != nullptr);
  CHECK(g.find("blk.0.ffn_up_exps.weight.in_sum2")->shape == Shape{2, 3});
  CHECK(g.find("blk.0.ffn_up_exps.weight.counts")->shape == Shape{2, 1});
  const Importance m = Importance::read(file);
  CHECK(m.datasets == std::vector<std::string>{"a.txt"});
  CHECK(m.means("blk.0.attn_q.weight", 1, 4) == std::vector<float>{1, 2, 3, 4});
  CHECK(m.means("blk.0.ffn_up_exps.weight", 2, 3) == std::vector<float>{1, 2, 3, 1, 1, 1});  // nothing reached expert 1
  CHECK(m.means("absent", 1, 4).empty());
  CHECK_THROWS_AS(m.means("blk.0.attn_q.weight", 1, 5), Error);
}

TEST_CASE("the older .dat form is read") {
  const test::TempDir dir;
  const auto file = dir.path() / "imatrix.dat";
  std::ofstream(file, std::ios::binary) << dat();
  const Importance m = Importance::read(file);
  CHECK(m.means("blk.0.attn_q.weight", 1, 4) == std::vector<float>{1, 2, 3, 4});
  CHECK(m.chunk_count == 5);
  CHECK(m.datasets == std::vector<std::string>{"a.txt"});
}

TEST_CASE("matrices of one model add up") {
  Importance m = sample();
  m.add(sample());
  CHECK(m.entries().at("blk.0.attn_q.weight").counts[0] == 4);
  CHECK(m.means("blk.0.attn_q.weight", 1, 4) == std::vector<float>{1, 2, 3, 4});
  CHECK(m.chunk_count == 14);
  Importance other;
  other.entries()["blk.0.attn_q.weight"] = {1, 5, {1, 1, 1, 1, 1}, {1}};
  CHECK_THROWS_AS(m.add(other), Error);
}

TEST_CASE("a damaged importance matrix is refused by name") {
  const test::TempDir dir;
  const auto file = dir.path() / "bad";
  const std::string good = dat();
  for (std::size_t n = 0; n < good.size(); ++n) {
    if (n == good.size() - 13 || n == good.size() - 9) continue;  // whole without its last fields
    std::ofstream(file, std::ios::binary | std::ios::trunc) << good.substr(0, n);
    CHECK_THROWS_AS(Importance::read(file), Error);
  }
  std::string huge = good;
  const std::int32_t many = 1 << 29;
  huge.replace(31, 4, reinterpret_cast<const char*>(&many), 4);  // values that the file does not hold
  std::ofstream(file, std::ios::binary | std::ios::trunc) << huge;
  CHECK_THROWS_AS(Importance::read(file), Error);
  for (const float v : {-1.0f, std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    Importance m = sample();
    m.entries()["blk.0.attn_q.weight"].sums[1] = v;
    m.write(file);
    CHECK_THROWS_AS(Importance::read(file), Error);
  }
  io::GgufWriter w;
  w.metadata().set("general.type", {std::string("model")});
  w.write(file);
  CHECK_THROWS_AS(Importance::read(file), Error);
}
