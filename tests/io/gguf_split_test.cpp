// SPDX-License-Identifier: Apache-2.0
// Split GGUF sets: all parts are found, and a missing, renamed or foreign one is named.
#include <fmt/format.h>

#include "hanzo/io/gguf.hpp"
#include "hanzo/io/gguf_writer.hpp"
#include "src/io/split_name.hpp"
#include "tests/catch.hpp"
#include "tests/io/raw_gguf.hpp"
#include "tests/temp_dir.hpp"

namespace fs = std::filesystem;
using namespace hz;
using namespace hz::io;
using namespace hz::test;

namespace {

std::string part_name(int i, int n) { return split_path({}, {"m", static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(n)}).string(); }

void write_part(const fs::path& path, int index, int count, const std::string& tensor, float value, int total = 3) {
  GgufWriter w;
  if (index == 0) w.metadata().set("general.name", {std::string("split")});
  w.metadata().set("split.no", {static_cast<std::uint16_t>(index)});
  w.metadata().set("split.count", {static_cast<std::uint16_t>(count)});
  w.metadata().set("split.tensors.count", {std::int32_t{total}});
  const std::vector<float> values(8, value);
  w.add(tensor, Tensor::from(values, Shape{8}));
  w.write(path);
}

void write_set(const fs::path& dir) {
  for (int i = 0; i < 3; ++i) write_part(dir / part_name(i + 1, 3), i, 3, fmt::format("t{}", i), static_cast<float>(i));
}

}  // namespace

TEST_CASE("a split model opens through its first part") {
  const TempDir dir;
  write_set(dir.path());
  for (const ReadMode mode : {ReadMode::map, ReadMode::read}) {
    const Gguf g = Gguf::open(dir.path() / part_name(1, 3), mode);
    REQUIRE(g.files().size() == 3);
    CHECK(g.metadata().require<std::string>("general.name") == "split");
    CHECK(g.total_bytes() == 3 * fs::file_size(g.files()[1]) + fs::file_size(g.files()[0]) - fs::file_size(g.files()[1]));
    for (int i = 0; i < 3; ++i) {
      const std::string name = fmt::format("t{}", i);
      CHECK(g.find(name)->file == static_cast<std::uint32_t>(i));
      CHECK(g.tensor(name).decode().span<float>()[7] == static_cast<float>(i));
    }
  }
  CHECK(Gguf::open_part(dir.path() / part_name(2, 3)).tensors().size() == 1);
}

TEST_CASE("a split model names the part that is missing, swapped, renamed, foreign or not the first") {
  const TempDir dir;
  write_set(dir.path());
  const fs::path first = dir.path() / part_name(1, 3), second = dir.path() / part_name(2, 3), third = dir.path() / part_name(3, 3);
  const auto open_error = [](const fs::path& p) { return error_of([&] { Gguf::open(p); }); };

  CHECK(open_error(second).find(
            "this is part 2 of a model split into 3 | m-00002-of-00003.gguf | open the first part: m-00001-of-00003.gguf") == 0);
  fs::rename(third, dir.path() / "x");
  CHECK(open_error(first).find("part 3 of 3 is missing: m-00003-of-00003.gguf") == 0);
  fs::copy_file(second, third);
  CHECK(open_error(first).find("by its name this is part 3 of 3, by its metadata part 2 of 3 | m-00003-of-00003.gguf") == 0);
  fs::remove(third);
  write_part(third, 2, 3, "t1", 9);
  CHECK(open_error(first).find("tensor t1 is in two parts of the model | m-00003-of-00003.gguf") == 0);
  fs::remove(third);
  write_part(third, 2, 3, "t2", 9);
  write_part(first, 0, 3, "t0", 0, 4);
  CHECK(open_error(first).find("the model has 4 tensors, its parts hold 3") == 0);
  fs::rename(first, dir.path() / "model.gguf");
  CHECK(open_error(dir.path() / "model.gguf").find("by its metadata this is part 1 of 3, by its name it is not | model.gguf") == 0);
  fs::resize_file(third, 100);
  fs::rename(dir.path() / "model.gguf", first);
  CHECK(open_error(first).find("| m-00003-of-00003.gguf |") != std::string::npos);
}

TEST_CASE("split names are five digits each and agree with their set") {
  const auto name = parse_split_name("a/b-c-00002-of-00012.gguf");
  REQUIRE(name);
  CHECK(name->stem == "b-c");
  CHECK(name->number == 2);
  CHECK(name->count == 12);
  CHECK(split_path("a", *name) == fs::path("a/b-c-00002-of-00012.gguf"));
  for (const char* other : {"m.gguf", "m-0001-of-0002.gguf", "m-00003-of-00002.gguf", "m-00000-of-00002.gguf", "m-00001-of-0000x.gguf",
                            "m_00001-of-00002.gguf", "00001-of-00002.gguf", "-of-00002.gguf", ".gguf", "m-00001-of-00002.bin"})
    CHECK_FALSE(parse_split_name(other));
}
