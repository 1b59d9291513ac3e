// SPDX-License-Identifier: Apache-2.0
// Gguf and GgufWriter: what is written is read back, in both modes, for all value types, alignments and orders.
#include "hanzo/io/gguf.hpp"

#include <cstring>

#include "hanzo/io/gguf_writer.hpp"
#include "tests/catch.hpp"
#include "tests/io/raw_gguf.hpp"
#include "tests/temp_dir.hpp"

using namespace hz;
using namespace hz::io;
using namespace hz::test;

namespace {

Value nested(int depth) {
  if (depth == 1) return {Array{std::vector<std::int32_t>{1, 2, 3}}};
  return {Array{ValueList{nested(depth - 1)}}};
}

Metadata all_types() {
  Metadata m;
  m.set("general.architecture", {std::string("test")});
  m.set("t.u8", {std::uint8_t{250}});
  m.set("t.i8", {std::int8_t{-5}});
  m.set("t.u16", {std::uint16_t{65000}});
  m.set("t.i16", {std::int16_t{-30000}});
  m.set("t.u32", {std::uint32_t{4'000'000'000}});
  m.set("t.i32", {std::int32_t{-2'000'000'000}});
  m.set("t.f32", {1.25f});
  m.set("t.bool", {true});
  m.set("t.empty", {std::string()});
  m.set("t.u64", {~std::uint64_t{0}});
  m.set("t.i64", {std::int64_t{-1} << 62});
  m.set("t.f64", {-2.5e300});
  m.set("a.u8", {Array{std::vector<std::uint8_t>{1, 2}}});
  m.set("a.i8", {Array{std::vector<std::int8_t>{-1, 2}}});
  m.set("a.u16", {Array{std::vector<std::uint16_t>{1, 65535}}});
  m.set("a.i16", {Array{std::vector<std::int16_t>{-1, 2}}});
  m.set("a.u32", {Array{std::vector<std::uint32_t>{}}});
  m.set("a.i32", {Array{std::vector<std::int32_t>{-7}}});
  m.set("a.f32", {Array{std::vector<float>{0.5f, -1.0f}}});
  m.set("a.bool", {Array{std::vector<bool>{true, false, true}}});
  m.set("a.string", {Array{std::vector<std::string>{"", "one", std::string(1000, 'z')}}});
  m.set("a.nested", nested(64));
  m.set("a.u64", {Array{std::vector<std::uint64_t>{1}}});
  m.set("a.i64", {Array{std::vector<std::int64_t>{-1}}});
  m.set("a.f64", {Array{std::vector<double>{3.5}}});
  return m;
}

bool same(const Value& a, const Value& b);
bool same(const Array& a, const Array& b) {
  if (a.index() != b.index()) return false;
  return std::visit(
      [&]<class List>(const List& v) {
        const auto& w = std::get<List>(b);
        if constexpr (std::is_same_v<List, ValueList>)
          return std::equal(v.begin(), v.end(), w.begin(), w.end(), [](const Value& x, const Value& y) { return same(x, y); });
        else return v == w;
      },
      a);
}
bool same(const Value& a, const Value& b) {
  if (a.type() != b.type()) return false;
  return std::visit(
      [&]<class T>(const T& v) {
        if constexpr (std::is_same_v<T, Array>) return same(v, std::get<Array>(b.data));
        else return v == std::get<T>(b.data);
      },
      a.data);
}

std::string sample(std::size_t n) {
  std::string s(n, '\0');
  for (std::size_t i = 0; i < n; ++i) s[i] = static_cast<char>(i * 7 + 3);
  return s;
}
std::span<const std::byte> bytes_of(const std::string& s) { return std::as_bytes(std::span(s.data(), s.size())); }

}  // namespace

TEST_CASE("gguf reads back every value type and every tensor byte, mapped and read, at any alignment") {
  const TempDir dir;
  for (const std::uint32_t alignment : {8u, 32u, 64u, 4096u}) {
    GgufWriter writer(all_types());
    if (alignment != 32) writer.metadata().set("general.alignment", {alignment});
    const std::string q4 = sample(18 * 2 * 3), q4k = sample(144 * 5), plain = sample(24);
    writer.add("blk.0.a.weight", Shape{3, 64}, 2, bytes_of(q4));
    writer.add("blk.0.b.weight", Shape{5, 1, 256}, 12, bytes_of(q4k));
    writer.add("ids", Shape{6}, 26, bytes_of(plain));
    const std::vector<float> norm{1, 2, 3, 4, 5};
    writer.add("norm", Tensor::from(norm, Shape{5}));
    const auto path = dir.path() / "m.gguf";
    writer.write(path);
    CHECK(std::filesystem::file_size(path) == writer.file_bytes());
    for (const ReadMode mode : {ReadMode::map, ReadMode::read}) {
      const Gguf g = Gguf::open(path, mode);
      CHECK(g.version() == 3);
      CHECK(g.alignment() == alignment);
      CHECK(g.total_bytes() == writer.file_bytes());
      REQUIRE(g.metadata().entries().size() == writer.metadata().entries().size());
      for (std::size_t i = 0; i < g.metadata().entries().size(); ++i) {
        const auto& [key, value] = g.metadata().entries()[i];
        INFO(key);
        CHECK(key == writer.metadata().entries()[i].first);
        CHECK(same(value, writer.metadata().entries()[i].second));
      }
      REQUIRE(g.tensors().size() == 4);
      CHECK(g.tensors()[1].name == "blk.0.b.weight");
      CHECK(g.tensors()[1].offset % alignment == 0);
      const QTensor a = g.tensor("blk.0.a.weight");
      CHECK(a.shape() == Shape{3, 64});
      CHECK(a.wtype() == WType::q4_0);
      CHECK(std::memcmp(a.bytes().data(), q4.data(), q4.size()) == 0);
      const QTensor b = g.tensor("blk.0.b.weight");
      CHECK(b.shape() == Shape{5, 1, 256});
      CHECK(std::memcmp(b.bytes().data(), q4k.data(), q4k.size()) == 0);
      CHECK(std::memcmp(g.dense("ids").raw(), plain.data(), plain.size()) == 0);
      CHECK(g.dense("norm").span<float>()[4] == 5.0f);
    }
  }
}

TEST_CASE("gguf tensors outlive the Gguf they came from") {
  const TempDir dir;
  const std::string data = sample(18);
  GgufWriter writer;
  writer.add("w", Shape{32}, 2, bytes_of(data));
  writer.write(dir.path() / "m.gguf");
  QTensor w = Gguf::open(dir.path() / "m.gguf").tensor("w");
  CHECK(std::memcmp(w.bytes().data(), data.data(), data.size()) == 0);
}

TEST_CASE("gguf version 2, unaligned end, gaps, any order of data and an empty model are legal") {
  const TempDir dir;
  RawGguf raw;
  raw.version = 2;
  raw.tensors = {{"late", {4}, 0, 96}, {"early", {2, 2}, 0, 0}};
  raw.data = std::string(96 + 16, 'd');  // no padding after the last tensor
  put_file(dir.path() / "m.gguf", raw.bytes());
  const Gguf g = Gguf::open(dir.path() / "m.gguf");
  CHECK(g.version() == 2);
  CHECK(g.tensors()[0].name == "late");
  CHECK(g.tensor("early").shape() == Shape{2, 2});

  RawGguf empty;
  put_file(dir.path() / "e.gguf", empty.head());  // ends with the header, unpadded
  for (const ReadMode mode : {ReadMode::map, ReadMode::read}) CHECK(Gguf::open(dir.path() / "e.gguf", mode).tensors().empty());
}

TEST_CASE("gguf weights: a plain type, a missing or zero dimension and a wrong shape are named") {
  const TempDir dir;
  RawGguf raw;
  raw.tensors = {{"ids", {8}, 26, 0}, {"none", {}, 0, 32}, {"zero", {32, 0}, 0, 64}, {"w", {32, 2, 1}, 0, 64}};
  raw.data = std::string(64 + 256, '\0');
  put_file(dir.path() / "m.gguf", raw.bytes());
  const Gguf g = Gguf::open(dir.path() / "m.gguf");
  CHECK(error_of([&] { g.tensor("ids"); }).find("ids: stored as I32, which is no weight format | m.gguf") == 0);
  CHECK(error_of([&] { g.tensor("none"); }).find("none: a tensor without dimensions") == 0);
  CHECK(error_of([&] { g.tensor("zero"); }).find("zero: a dimension is 0 in 0 x 32") == 0);
  CHECK(error_of([&] { g.tensor("absent"); }).find("tensor absent is missing | m.gguf") == 0);
  CHECK(g.tensor("w", Shape{2, 32}).shape() == Shape{2, 32});
  CHECK(error_of([&] { g.tensor("w", Shape{32, 2}); }).find("w: expected 32 x 2, the file has 1 x 2 x 32 | m.gguf") == 0);
}

TEST_CASE("gguf reading reports bytes done and obeys a stop") {
  const TempDir dir;
  const std::string data = sample(144 * 100);
  GgufWriter writer;
  writer.add("w", Shape{100, 256}, 12, bytes_of(data));
  writer.write(dir.path() / "m.gguf");
  Progress progress;
  std::uint64_t last = 0, all = 0;
  progress.report = [&](std::string_view, std::uint64_t done, std::uint64_t total) { last = done, all = total; };
  Gguf::open(dir.path() / "m.gguf", ReadMode::read, progress);
  CHECK(last == data.size());
  CHECK(all == data.size());
  std::stop_source stop;
  stop.request_stop();
  progress.stop = stop.get_token();
  CHECK_THROWS_AS(Gguf::open(dir.path() / "m.gguf", ReadMode::read, progress), Error);
}

TEST_CASE("gguf writing obeys a stop inside a large tensor") {
  const TempDir dir;
  const std::string data(std::size_t{40} << 20, '\0');
  GgufWriter w;
  w.add("a", Shape{10 << 20}, 0, bytes_of(data));
  std::stop_source stop;
  std::uint64_t written = 0;
  const auto sink = [&](std::span<const std::byte> bytes) {
    written += bytes.size();
    if (written > 1 << 20) stop.request_stop();
  };
  CHECK_THROWS_AS(w.write(sink, {.report = {}, .stop = stop.get_token()}), Error);
  CHECK(written < std::uint64_t{20} << 20);
}

TEST_CASE("gguf writing refuses what the format cannot hold and leaves no file") {
  const TempDir dir;
  const std::string data(64, '\0');
  GgufWriter w;
  w.add("a", Shape{16}, 0, bytes_of(data));
  CHECK(error_of([&] { w.add("a", Shape{16}, 0, bytes_of(data)); }).find("[gguf write] a: added twice") == 0);
  CHECK(error_of([&] { w.add("b", Shape{15}, 0, bytes_of(data)); }).find("[gguf write] b: 15 needs 60 bytes, got 64") == 0);
  CHECK(error_of([&] { w.add("b", Shape{33}, 2, bytes_of(data)); }).find("does not divide into Q4_0 blocks of 32") != std::string::npos);
  CHECK(error_of([&] { w.add("b", Shape{1}, 999, bytes_of(data)); }).find("type 999") != std::string::npos);
  CHECK(error_of([&] { w.add(std::string(65, 'n'), Shape{16}, 0, bytes_of(data)); }).find("at most 64") != std::string::npos);
  CHECK(error_of([&] { w.add("b", Shape{1, 1, 1, 1, 16}, 0, bytes_of(data)); }).find("more than 4 dimensions") != std::string::npos);
  w.add("short", Shape{16}, 0, [](const ByteSink& sink) { sink(std::as_bytes(std::span("12", 2))); });
  CHECK(error_of([&] { w.write(dir.path() / "m.gguf"); }).find("short: the source gave 2 bytes instead of 64") != std::string::npos);
  CHECK(std::filesystem::is_empty(dir.path()));
  GgufWriter bad(all_types());
  bad.metadata().set("general.alignment", {std::uint32_t{48}});
  CHECK_THROWS_AS(bad.file_bytes(), Error);
  bad.metadata().set("general.alignment", {std::uint32_t{64}});
  bad.metadata().set("deep", nested(65));
  CHECK(error_of([&] { bad.file_bytes(); }).find("nested deeper than 64") != std::string::npos);
}
