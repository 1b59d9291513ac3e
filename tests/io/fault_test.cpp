// SPDX-License-Identifier: Apache-2.0
// Readers and writers under faults: each n-th allocation and system call fails; the error is clean, nothing leaks, an
// old file stays whole, and the next attempt works.
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <algorithm>
#include <vector>

#include "hanzo/io/atomic_file.hpp"
#include "hanzo/io/gguf.hpp"
#include "hanzo/io/gguf_split.hpp"
#include "hanzo/io/gguf_writer.hpp"
#include "hanzo/io/safetensors.hpp"
#include "tests/catch.hpp"
#include "tests/conformance/sandbox.hpp"
#include "tests/faults.hpp"
#include "tests/io/raw_gguf.hpp"
#include "tests/temp_dir.hpp"

namespace fs = std::filesystem;
using namespace hz;
using namespace hz::io;
using namespace hz::test;

namespace {

GgufWriter small_model(float value = 1) {
  GgufWriter w;
  w.metadata().set("general.architecture", {std::string("test")});
  w.metadata().set("tokens", {Array{std::vector<std::string>{"a", "a token too long for the small string", "c"}}});
  w.metadata().set("nested", {Array{ValueList{{Array{std::vector<std::int32_t>{1, 2}}}}}});
  const std::vector<float> values(64, value);
  for (const char* name : {"one.weight", "two.weight", "three.weight"}) w.add(name, Tensor::from(values, Shape{2, 32}));
  return w;
}

// Files in a folder by name: what a writer may leave there.
std::string listing(const fs::path& dir) {
  std::vector<std::string> names;
  for (const auto& e : fs::directory_iterator(dir)) names.push_back(e.path().filename().string());
  std::sort(names.begin(), names.end());
  std::string s;
  for (const std::string& n : names) s += n + " ";
  return s;
}

// Every fault in `action`, which must leave `dir` as `before` or with its one new, whole result.
struct Trial {
  fs::path dir;
  std::function<void()> action;
  std::function<void()> reset;                   // before each attempt's check of the folder
  std::function<bool()> whole = [] { return true; };

  void check(const Attempt& a, std::size_t files) const {
    INFO(a.error);
    CHECK((a.fired || !a.failed));
    CHECK_FALSE(a.foreign);
    CHECK(a.leaked == 0);
    CHECK(open_files() == files);
    CHECK(listing(dir).find(".tmp") == std::string::npos);
    CHECK(whole());
    if (reset) reset();
  }
  // error 0 (short counts) and EINTR on a read or write must not show at all.
  std::int64_t calls(Call call, int error, bool hidden) const {
    const std::size_t files = open_files();
    INFO(name_of(call) << " fails with " << error);
    return with_each_call_failing(call, error, action, [&](const Attempt& a) {
      CHECK(a.failed == (a.fired && !hidden));
      check(a, files);
    });
  }
  // Tables and list nodes made at their first use are not leaks.
  void warm_up() const {
    action();
    if (reset) reset();
  }
  std::int64_t all_calls() const {
    warm_up();
    std::int64_t met = 0;
    for (const Call call : kCalls) {
      if (call == Call::close) continue;  // readers ignore it; writers have a test of their own
      for (const int error : {EIO, ENOSPC, ENOMEM, EMFILE}) met += calls(call, error, false);
    }
    for (const Call call : {Call::pread, Call::write}) met += calls(call, 0, true) + calls(call, EINTR, true);
    return met + calls(Call::open, EINTR, true);
  }
  std::int64_t all_allocations() const {
    warm_up();
    const std::size_t files = open_files();
    std::int64_t met = 0;
    for (const bool persistent : {false, true}) {
      // An algorithm may do without a buffer it does not get: a met fault need not fail.
      met += with_each_allocation_failing(action, [&](const Attempt& a) { check(a, files); }, persistent);
      warm_up();  // the next attempt works
    }
    return met;
  }
};

}  // namespace

TEST_CASE("faults: opening a GGUF file, mapped or read, fails cleanly at every call and allocation") {
  const TempDir dir;
  const fs::path path = dir.path() / "m.gguf";
  small_model().write(path);
  for (const ReadMode mode : {ReadMode::map, ReadMode::read}) {
    const Trial t{dir.path(), [&] { Gguf::open(path, mode).tensor("two.weight"); }, nullptr};
    CHECK(t.all_calls() > 20);
    CHECK(t.all_allocations() > 50);
  }
}

TEST_CASE("faults: opening a split model fails cleanly at every call") {
  const TempDir dir;
  small_model().write(dir.path() / "m.gguf");
  const auto parts = split_gguf(dir.path() / "m.gguf", dir.path() / "m", {.max_tensors = 1});
  REQUIRE(parts.size() == 3);
  const Trial t{dir.path(), [&] { Gguf::open(parts[0], ReadMode::read); }, nullptr};
  CHECK(t.all_calls() > 60);
  CHECK(t.all_allocations() > 100);
}

TEST_CASE("faults: opening a safetensors file fails cleanly at every call and allocation") {
  const TempDir dir;
  const fs::path path = dir.path() / "t.safetensors";
  SafeTensorsWriter w;
  w.metadata()["key"] = "a value too long for the small string";
  w.add("a tensor name too long for the small string", Tensor::zeros(Shape{4, 4}));
  w.write(path);
  for (const ReadMode mode : {ReadMode::map, ReadMode::read}) {
    const Trial t{dir.path(), [&] { SafeTensors::open(path, mode); }, nullptr};
    CHECK(t.all_calls() > 20);
    CHECK(t.all_allocations() > 10);
  }
}

TEST_CASE("faults: a writer leaves the old file or the whole new one, and no temporary") {
  const TempDir dir;
  const fs::path gguf = dir.path() / "m.gguf", tensors = dir.path() / "t.safetensors";
  GgufWriter model = small_model(2);
  const std::string large(600'000, 'b');
  model.add("large", Shape{150'000}, 0, std::as_bytes(std::span(large.data(), large.size())));
  model.write(gguf);
  const std::string new_model = get_file(gguf);
  SafeTensorsWriter w;
  w.add("a", Tensor::zeros(Shape{300, 300}));
  w.write(tensors);
  const std::string new_tensors = get_file(tensors);
  const auto old_or = [](const fs::path& p, const std::string& fresh) {
    const std::string now = get_file(p);
    return now == "old" || now == fresh;
  };
  const auto reset = [&] {
    put_file(gguf, "old");
    put_file(tensors, "old");
  };
  reset();
  const Trial t{dir.path(), [&] { model.write(gguf); }, reset, [&] { return old_or(gguf, new_model); }};
  CHECK(t.all_calls() > 20);
  {
    const SysFault fault(Call::close, 1, EIO);
    CHECK(error_of([&] { model.write(gguf); }).find("cannot close the file: Input/output error | m.gguf") == 0);
  }
  CHECK(get_file(gguf) == "old");
  CHECK(listing(dir.path()) == "m.gguf t.safetensors ");
  CHECK(t.all_allocations() > 10);
  const Trial s{dir.path(), [&] { w.write(tensors); }, reset, [&] { return old_or(tensors, new_tensors); }};
  CHECK(s.all_calls() > 10);
  CHECK(s.all_allocations() > 10);
}

TEST_CASE("faults: a failed fsync or rename keeps the old file, and fsync is not tried again") {
  const TempDir dir;
  const fs::path path = dir.path() / "f";
  put_file(path, "old");
  for (const int error : {EIO, EINTR, ENOSPC}) {
    AtomicFile file(path);
    file.write("new");
    {
      const SysFault fault(Call::fsync, 1, error);
      CHECK(error_of([&] { file.commit(); }).find("cannot write the file to the disk") == 0);
    }
    CHECK(error_of([&] { file.commit(); }).find("[AtomicFile] committed after a failure or twice") == 0);
    CHECK(get_file(path) == "old");
    CHECK(listing(dir.path()) == "f ");
  }
  {
    const SysFault fault(Call::rename, 1, EACCES);
    CHECK(error_of([&] { write_file(path, "new"); }).find("cannot give the file its name: Permission denied | f") == 0);
  }
  CHECK(get_file(path) == "old");
  {
    const SysFault fault(Call::fsync, 2, EIO);
    CHECK(error_of([&] { write_file(path, "new"); }).find("cannot make the new name permanent (the new file is in place") == 0);
  }
  CHECK(get_file(path) == "new");
}

TEST_CASE("faults: splitting removes the parts it wrote, merging leaves the old file") {
  const TempDir in, out;
  small_model().write(in.path() / "m.gguf");
  const auto clear = [&] {
    for (const auto& e : fs::directory_iterator(out.path())) fs::remove(e.path());
  };
  const auto none_or_all = [&] {
    const std::string now = listing(out.path());
    return now.empty() || now == "s-00001-of-00003.gguf s-00002-of-00003.gguf s-00003-of-00003.gguf ";
  };
  const Trial split{out.path(), [&] { split_gguf(in.path() / "m.gguf", out.path() / "s", {.max_tensors = 1}); }, clear, none_or_all};
  CHECK(split.all_calls() > 50);
  CHECK(split.all_allocations() > 100);
  const auto parts = split_gguf(in.path() / "m.gguf", in.path() / "s", {.max_tensors = 1});
  const Trial merge{out.path(), [&] { merge_gguf(parts[0], out.path() / "m"); }, clear};
  CHECK(merge.all_calls() > 50);
}

TEST_CASE("faults: a split model of 60 parts opens with 16 file descriptors") {
  const TempDir dir;
  GgufWriter w;
  for (int i = 0; i < 60; ++i) w.add("tensor number " + std::to_string(i), Tensor::zeros(Shape{8}));
  w.write(dir.path() / "m.gguf");
  const auto parts = split_gguf(dir.path() / "m.gguf", dir.path() / "m", {.max_tensors = 1});
  REQUIRE(parts.size() == 60);
  const auto o = conformance::run_limited([&] {
    const rlimit few{16, 16};
    ::setrlimit(RLIMIT_NOFILE, &few);
    for (const ReadMode mode : {ReadMode::map, ReadMode::read})
      if (Gguf::open(parts[0], mode).tensors().size() != 60) throw Error(ErrorKind::failed, "not all tensors");
  });
  CHECK(o.text() == "ok");
}

TEST_CASE("faults: a writer killed at any instant leaves one whole file") {
  const TempDir dir;
  const fs::path path = dir.path() / "f";
  const std::string a(200'000, 'a'), b(400'000, 'b');
  write_file(path, a);
  for (int i = 0; i < 40; ++i) {
    const pid_t child = ::fork();
    if (child == 0) {
      for (;;) {
        write_file(path, b);
        write_file(path, a);
      }
    }
    ::usleep(static_cast<useconds_t>(500 + i * 137));
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    const std::string now = get_file(path);
    CHECK((now == a || now == b));
  }
}
