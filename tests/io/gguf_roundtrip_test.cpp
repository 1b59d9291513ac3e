// SPDX-License-Identifier: Apache-2.0
// Splitting and merging keep metadata and every byte.
#include "hanzo/io/gguf.hpp"
#include "hanzo/io/gguf_split.hpp"
#include "hanzo/io/gguf_writer.hpp"
#include "tests/catch.hpp"
#include "tests/io/raw_gguf.hpp"
#include "tests/temp_dir.hpp"

namespace fs = std::filesystem;
using namespace hz;
using namespace hz::io;
using namespace hz::test;

namespace {

GgufWriter model(std::uint32_t alignment, int tensors) {
  GgufWriter w;
  w.metadata().set("general.architecture", {std::string("test")});
  if (alignment != 32) w.metadata().set("general.alignment", {alignment});
  for (int i = 0; i < tensors; ++i) {
    const std::vector<float> values(static_cast<std::size_t>(10 + i), static_cast<float>(i));
    std::string name("t");
    name += std::to_string(i);
    w.add(name, Tensor::from(values, Shape{10 + i}));
  }
  return w;
}

}  // namespace

TEST_CASE("splitting and merging give back the same file, for any alignment and part size") {
  const TempDir dir;
  for (const std::uint32_t alignment : {32u, 256u})
    for (const SplitOptions& options : {SplitOptions{}, SplitOptions{.max_tensors = 2}, SplitOptions{.max_bytes = 100},
                                        SplitOptions{.max_bytes = 1}, SplitOptions{.max_tensors = 3, .metadata_first = true}}) {
      const fs::path in = dir.path() / "m.gguf", out = dir.path() / "out.gguf";
      model(alignment, 7).write(in);
      const auto parts = split_gguf(in, dir.path() / "part", options);
      const Gguf set = Gguf::open(parts[0]);
      CHECK(set.tensors().size() == 7);
      CHECK(set.tensor("t6").decode().span<float>()[15] == 6.0f);
      merge_gguf(parts[0], out);
      CHECK(get_file(out) == get_file(in));
      for (const fs::path& p : parts) fs::remove(p);
    }
}

TEST_CASE("splitting counts parts by its limits, keeps existing parts and splits a split set anew") {
  const TempDir dir;
  const fs::path in = dir.path() / "m.gguf";
  model(32, 7).write(in);
  const auto one = split_gguf(in, dir.path() / "a", {.max_tensors = 3});
  CHECK(one.size() == 3);
  CHECK(one[2].filename() == "a-00003-of-00003.gguf");
  CHECK(Gguf::open_part(one[0]).tensors().size() == 3);
  CHECK(Gguf::open_part(one[1]).metadata().entries().size() == 3);
  CHECK(error_of([&] { split_gguf(in, dir.path() / "a", {.max_tensors = 3}); }).find("the part exists already") == 0);
  const auto two = split_gguf(one[0], dir.path() / "b", {.max_tensors = 4, .metadata_first = true});
  CHECK(two.size() == 3);
  CHECK(Gguf::open_part(two[0]).tensors().empty());
  merge_gguf(two[0], dir.path() / "c.gguf");
  CHECK(get_file(dir.path() / "c.gguf") == get_file(in));
  model(32, 0).write(dir.path() / "empty.gguf");
  CHECK(split_gguf(dir.path() / "empty.gguf", dir.path() / "e", {.max_tensors = 1}).size() == 1);
}
