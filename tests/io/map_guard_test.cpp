// SPDX-License-Identifier: Apache-2.0
// MapGuard: a file cut while it is mapped is an error; every other SIGBUS is as before.
#include "hanzo/io/map_guard.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include "hanzo/io/gguf.hpp"
#include "hanzo/io/gguf_split.hpp"
#include "hanzo/io/gguf_writer.hpp"
#include "tests/catch.hpp"
#include "tests/conformance/sandbox.hpp"
#include "tests/io/raw_gguf.hpp"
#include "tests/temp_dir.hpp"

namespace fs = std::filesystem;
using namespace hz;
using namespace hz::io;
using namespace hz::test;
using conformance::run_limited;

namespace {

void write_model(const fs::path& path) {
  GgufWriter w;
  const std::vector<float> values(100'000, 1.0f);
  for (const char* name : {"a", "b"}) w.add(name, Tensor::from(values, Shape{100'000}));
  w.write(path);
}

float sum(const QTensor& t) {
  float s = 0;
  const Tensor values = t.decode();
  for (const float v : values.span<float>()) s += v;
  return s;
}

// Reads a page past the end of a file that the library did not map.
void fault_elsewhere(const fs::path& path) {
  put_file(path, std::string(10'000, 'x'));
  const int fd = ::open(path.c_str(), O_RDWR);
  auto* p = static_cast<volatile char*>(::mmap(nullptr, 10'000, PROT_READ, MAP_SHARED, fd, 0));
  if (::ftruncate(fd, 0) != 0) throw Error(ErrorKind::failed, "no truncation");
  static_cast<void>(p[5000]);
}

}  // namespace

TEST_CASE("a model cut while mapped gives zeros and an error naming it, not SIGBUS") {
  const TempDir dir;
  write_model(dir.path() / "m.gguf");
  const MapGuard guard;
  {
    const Gguf g = Gguf::open(dir.path() / "m.gguf");
    const QTensor a = g.tensor("a"), b = g.tensor("b");
    CHECK(sum(a) == 100'000);
    CHECK(intact());
    fs::resize_file(dir.path() / "m.gguf", 409'600);
    CHECK(sum(a) == 100'000);
    CHECK(intact());
    CHECK(sum(b) < 100'000);
    CHECK_FALSE(intact());
    fs::resize_file(dir.path() / "m.gguf", 0);
    CHECK(sum(a) < 100'000);
    CHECK(error_of([] { check_intact(); }).find("the file was cut or could not be read while it was in use | m.gguf") == 0);
  }
  CHECK(intact());  // the mapping is gone, and its loss with it
  CHECK_NOTHROW(check_intact());
}

TEST_CASE("a guard may come after the mapping, be nested, and goes when the last one goes") {
  const TempDir dir;
  write_model(dir.path() / "m.gguf");
  const Gguf g = Gguf::open(dir.path() / "m.gguf");
  fs::resize_file(dir.path() / "m.gguf", 4096);
  CHECK(run_limited([&] { sum(g.tensor("b")); }).text() == "killed by signal 7");
  CHECK(run_limited([&] {
    const MapGuard outer;
    { const MapGuard inner; }
    sum(g.tensor("b"));
    check_intact();
  }).text().find("error: the file was cut") == 0);
  CHECK(run_limited([&] {
    { const MapGuard gone; }
    sum(g.tensor("b"));
  }).text() == "killed by signal 7");
}

TEST_CASE("faults elsewhere and signals sent by others reach the former handler") {
  const TempDir dir;
  CHECK(run_limited([&] {
    const MapGuard guard;
    fault_elsewhere(dir.path() / "x");
  }).text() == "killed by signal 7");
  CHECK(run_limited([&] {
    ::signal(SIGBUS, [](int) { ::_exit(42); });
    const MapGuard guard;
    fault_elsewhere(dir.path() / "x");
  }).text() == "exit code 42");
  CHECK(run_limited([&] {
    struct sigaction action {};
    action.sa_flags = SA_SIGINFO;
    action.sa_sigaction = [](int, siginfo_t* info, void*) { ::_exit(info->si_addr != nullptr ? 43 : 44); };
    ::sigaction(SIGBUS, &action, nullptr);
    const MapGuard guard;
    fault_elsewhere(dir.path() / "x");
  }).text() == "exit code 43");
  CHECK(run_limited([] {
    const MapGuard guard;
    ::raise(SIGBUS);
  }).text() == "killed by signal 7");
  CHECK(run_limited([] {
    ::signal(SIGBUS, SIG_IGN);
    const MapGuard guard;
    ::raise(SIGBUS);
  }).text() == "ok");
  CHECK(run_limited([] {
    ::signal(SIGBUS, [](int) { ::_exit(45); });
    { const MapGuard guard; }
    ::raise(SIGBUS);
  }).text() == "exit code 45");
}

TEST_CASE("splitting a model that is cut meanwhile is an error and leaves no parts") {
  const TempDir dir;
  write_model(dir.path() / "m.gguf");
  const MapGuard guard;
  Progress progress;
  progress.report = [&](std::string_view, std::uint64_t, std::uint64_t) { fs::resize_file(dir.path() / "m.gguf", 409'600); };
  CHECK_FALSE(error_of([&] { split_gguf(dir.path() / "m.gguf", dir.path() / "p", {.max_tensors = 1}, progress); }).empty());
  CHECK(std::distance(fs::directory_iterator(dir.path()), {}) == 1);
}

TEST_CASE("in read mode a file cut after opening changes nothing") {
  const TempDir dir;
  write_model(dir.path() / "m.gguf");
  const Gguf g = Gguf::open(dir.path() / "m.gguf", ReadMode::read);
  fs::resize_file(dir.path() / "m.gguf", 0);
  CHECK(sum(g.tensor("b")) == 100'000);
}
