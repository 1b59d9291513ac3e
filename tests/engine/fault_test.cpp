// SPDX-License-Identifier: Apache-2.0
// Load and four tokens while memory or the system fails: a clean error each time, nothing leaked, the next try works.
#include "hanzo/engine/generator.hpp"
#include "tests/catch.hpp"
#include "tests/faults.hpp"
#include "tests/model/tiny_model.hpp"
#include "tests/temp_dir.hpp"

using namespace hz;
using namespace hz::test;

namespace {

// Cached blocks are no leaks, but only when they are given back.
struct TrimAtEnd {
  ~TrimAtEnd() { trim_host_arena(); }
};

void four_tokens(const std::filesystem::path& file, io::ReadMode mode) {
  const TrimAtEnd trim;
  Generator gen(Model::load(file, {.threads = 1, .context = 64, .read_mode = mode}), {.ubatch = 2});
  Generation g = gen.generate({1, 2, 3}, {.max_tokens = 4, .temperature = 0.0f});
  while (g.next()) {}
  if (g.ids().size() != 4) throw Error(ErrorKind::failed, "not four tokens");
}

std::filesystem::path write_tiny(const TempDir& dir) {
  const auto file = dir.path() / "m.gguf";
  TinyModel({.layers = 1, .hidden = 32, .ff = 32, .vocab = 24, .heads = 2, .kv_heads = 1, .type = WType::q8_0}).write(file);
  return file;
}

}  // namespace

TEST_CASE("faults: load and four tokens survive each allocation that fails", "[faults]") {
  const TempDir dir;
  const auto file = write_tiny(dir);
  four_tokens(file, io::ReadMode::map);  // tables made at their first use are not leaks
  const std::size_t files = open_files();
  for (const bool persistent : {false, true}) {
    const std::int64_t met = with_each_allocation_failing([&] { four_tokens(file, io::ReadMode::map); },
                                                          [&](const Attempt& a) {
                                                            INFO(a.error);
                                                            REQUIRE_FALSE(a.foreign);
                                                            REQUIRE(a.leaked == 0);
                                                            REQUIRE(open_files() == files);
                                                          },
                                                          persistent);
    CHECK(met > 300);
    four_tokens(file, io::ReadMode::map);
  }
}

TEST_CASE("faults: load and four tokens survive each system call that fails", "[faults]") {
  const TempDir dir;
  const auto file = write_tiny(dir);
  for (const io::ReadMode mode : {io::ReadMode::map, io::ReadMode::read}) {
    four_tokens(file, mode);
    const std::size_t files = open_files();
    std::int64_t met = 0;
    for (const Call call : {Call::open, Call::fstat, Call::pread, Call::mmap})
      for (const int error : {EIO, ENOMEM, EMFILE}) {
        met += with_each_call_failing(call, error, [&] { four_tokens(file, mode); },
                                      [&](const Attempt& a) {
                                        INFO(name_of(call) << ": " << a.error);
                                        REQUIRE_FALSE(a.foreign);
                                        REQUIRE(a.failed == a.fired);
                                        REQUIRE(a.leaked == 0);
                                        REQUIRE(open_files() == files);
                                      });
      }
    CHECK(met >= 9);
    four_tokens(file, mode);
  }
}
