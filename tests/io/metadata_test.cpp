// SPDX-License-Identifier: Apache-2.0
// Metadata: typed access, its refusals, and the order of entries.
#include "hanzo/io/metadata.hpp"

#include "tests/catch.hpp"
#include "tests/faults.hpp"
#include "tests/io/raw_gguf.hpp"

using namespace hz;
using namespace hz::io;
using hz::test::error_of;

TEST_CASE("metadata gives integers of any width when the value fits") {
  Metadata m;
  m.set("small", {std::uint8_t{200}});
  m.set("negative", {std::int32_t{-1}});
  m.set("large", {std::uint64_t{1} << 40});
  CHECK(m.get<std::uint32_t>("small") == 200u);
  CHECK(m.get<std::int64_t>("negative") == -1);
  CHECK(m.get<std::uint64_t>("large") == std::uint64_t{1} << 40);
  CHECK(error_of([&] { m.get<std::int8_t>("small"); }).find("small: the value 200 is out of range") == 0);
  CHECK(error_of([&] { m.get<std::uint32_t>("negative"); }).find("negative: the value -1") == 0);
  CHECK(error_of([&] { m.get<std::uint64_t>("negative"); }).find("negative: the value -1") == 0);
  CHECK(error_of([&] { m.get<std::int32_t>("large"); }).find("large: the value 1099511627776") == 0);
}

TEST_CASE("metadata keeps kinds apart: bool, float, string and integer never stand in for each other") {
  Metadata m;
  m.set_source("model.gguf");
  m.set("b", {true});
  m.set("f", {1.5f});
  m.set("d", {2.5});
  m.set("s", {std::string("text")});
  m.set("i", {std::int32_t{1}});
  CHECK(m.get<bool>("b") == true);
  CHECK(m.get<float>("f") == 1.5f);
  CHECK(m.get<float>("d") == 2.5f);
  CHECK(m.get<double>("f") == 1.5);
  CHECK(m.require<std::string>("s") == "text");
  CHECK(error_of([&] { m.get<std::uint32_t>("b"); }).find("b: expected an integer, the file has bool | model.gguf") == 0);
  CHECK(error_of([&] { m.get<bool>("i"); }).find("i: expected bool, the file has i32") == 0);
  CHECK(error_of([&] { m.get<float>("i"); }).find("i: expected f32 or f64, the file has i32") == 0);
  CHECK(error_of([&] { m.get<std::string>("f"); }).find("f: expected string, the file has f32") == 0);
  CHECK_FALSE(m.get<float>("absent"));
  CHECK(m.get_or<std::uint32_t>("absent", 7) == 7);
  CHECK(error_of([&] { m.require<float>("absent"); }).find("the metadata key absent is missing | model.gguf") == 0);
}

TEST_CASE("metadata arrays convert element by element and name the bad one") {
  Metadata m;
  m.set("ids", {Array{std::vector<std::int32_t>{1, 2, -3}}});
  m.set("words", {Array{std::vector<std::string>{"a", "b"}}});
  m.set("flags", {Array{std::vector<bool>{true, false, true}}});
  CHECK(m.get_array<std::int64_t>("ids") == std::vector<std::int64_t>{1, 2, -3});
  CHECK(error_of([&] { m.get_array<std::uint32_t>("ids"); }).find("ids[2]: the value -3 is out of range") == 0);
  CHECK(m.get_array<bool>("flags") == std::vector<bool>{true, false, true});
  REQUIRE(m.find_array<std::string>("words") != nullptr);
  CHECK(m.find_array<std::string>("words")->at(1) == "b");
  CHECK(m.find_array<std::string>("absent") == nullptr);
  CHECK(error_of([&] { m.find_array<std::string>("ids"); }).find("ids: expected an array of string, the file has an array of i32") == 0);
  CHECK(error_of([&] { m.find_array<std::uint32_t>("ids"); }).find("ids: expected an array of u32, the file has an array of i32") == 0);
  CHECK(error_of([&] { m.get_array<float>("ids"); }).find("ids: expected an array of f32 or f64") == 0);
  m.set("ids", {std::int32_t{1}});
  CHECK(error_of([&] { m.get_array<std::int32_t>("ids"); }).find("ids: expected an array of an integer, the file has i32") == 0);
}

TEST_CASE("metadata keeps the order of first insertion through replacing and erasing") {
  Metadata m;
  for (const char* key : {"c", "a", "b", "d"}) m.set(key, {std::string(key)});
  m.set("a", {std::string("new")});
  CHECK(m.erase("c"));
  CHECK_FALSE(m.erase("c"));
  REQUIRE(m.entries().size() == 3);
  CHECK(m.entries()[0].first == "a");
  CHECK(m.require<std::string>("a") == "new");
  CHECK(m.require<std::string>("b") == "b");
  CHECK(m.require<std::string>("d") == "d");
  CHECK_FALSE(m.contains("c"));
  CHECK(error_of([] { Metadata({{"x", {true}}, {"y", {true}}, {"x", {false}}}, "f"); }).find("the key x occurs twice | f") == 0);
}

TEST_CASE("copying metadata without enough memory throws and harms nothing") {
  Metadata m;
  m.set("a", {Array{std::vector<std::string>{"a text too long for the small string", "b"}}});
  m.set("b", {Array{ValueList{{Array{std::vector<std::int32_t>{1, 2}}}, {Array{std::vector<double>{1.5}}}}}});
  m.set("c", {std::string("another text too long for the small string")});
  const auto met = test::with_each_allocation_failing([&] { const Metadata copy = m; }, [](const test::Attempt& a) {
    CHECK(a.failed == a.fired);
    CHECK(a.leaked == 0);
  });
  CHECK(met >= 8);
}
