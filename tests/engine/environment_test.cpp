// SPDX-License-Identifier: Apache-2.0
// What surrounds the process changes no token: no threads to be had, few file descriptors, a locale with a decimal comma, a
// full disk, a model file that is replaced.
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <unistd.h>

#include <clocale>
#include <cstring>
#include <fstream>
#include <iterator>
#include <functional>
#include <locale>
#include <nlohmann/json.hpp>
#include <system_error>
#include <thread>

#include "hanzo/engine/generator.hpp"
#include "hanzo/io/atomic_file.hpp"
#include "hanzo/io/gguf_split.hpp"
#include "hanzo/io/jsonl.hpp"
#include "hanzo/model/adapter.hpp"
#include "hanzo/model/importance.hpp"
#include "hanzo/text/chat_template.hpp"
#include "hanzo/train/run_log.hpp"
#include "tests/catch.hpp"
#include "tests/conformance/sandbox.hpp"
#include "tests/errors.hpp"
#include "tests/model/tiny_model.hpp"
#include "tests/temp_dir.hpp"

namespace fs = std::filesystem;
using namespace hz;
using namespace hz::test;
using conformance::run_limited;

namespace {

fs::path write_tiny(const TempDir& dir) {
  TinyModel({.layers = 2, .hidden = 64, .ff = 64, .vocab = 40, .type = WType::q8_0}).write(dir.path() / "m.gguf");
  return dir.path() / "m.gguf";
}

std::vector<std::int32_t> tokens(const fs::path& file, int threads = 1, io::ReadMode mode = io::ReadMode::map) {
  Generator gen(Model::load(file, {.threads = threads, .context = 64, .read_mode = mode}), {.ubatch = 8});
  Generation g = gen.generate({1, 2, 3}, {.max_tokens = 8, .temperature = 0.0f});
  while (g.next()) {}
  return g.ids();
}

void expect(bool holds, const std::string& what) {
  if (!holds) throw Error(ErrorKind::failed, what);
}

std::string read(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// Numbers as every writer and reader of ours writes and reads them.
std::string numbers(const fs::path& folder, const fs::path& model_file) {
  std::string s = text::ChatTemplate::parse(
                      "{{ 2.5 }} {{ 1e-7 }} {{ 1234567.25 }} {{ '%.2f' | format(3.14159) }} {{ '1.5' | float }} {{ [0.1] | tojson }}")
                      .render(text::ChatInput{})
                      .text;
  s += "\n" + train::metric_line({.step = 1, .epoch = 0.5, .loss = 1234.5, .lr = 1e-5});
  s += "\n" + std::to_string(train::parse_metric_line(R"({"step": 2, "loss": 1234.5})").loss == 1234.5);
  s += "\n" + io::parse_json(R"({"a": 1234.5, "b": 1e-3})").dump();
  const Model model = Model::load(model_file, {.threads = 1, .context = 64});
  Adapter::create(model, {.rank = 2, .alpha = 2.5, .targets = "attn_q", .dropout = 0.25f}, Seed{1}).save(folder / "adapter");
  s += "\n" + read(folder / "adapter" / "adapter_config.json");
  const float alpha = Adapter::load(folder / "adapter", model).targets()[0].alpha;
  return s + "\n" + std::to_string(alpha == 2.5f);
}

struct CommaNumbers : std::numpunct<char> {
  char do_decimal_point() const override { return ','; }
  char do_thousands_sep() const override { return '.'; }
  std::string do_grouping() const override { return "\3"; }
};

}  // namespace

TEST_CASE("faults: where no thread can be started the caller does all the work, with the same tokens", "[faults]") {
  const TempDir dir;
  const fs::path file = write_tiny(dir);
  const auto wanted = tokens(file, 4);
  CHECK(run_limited([&] {  // a child has no pool yet
    pthread_attr_t attributes;
    ::pthread_attr_init(&attributes);
    ::pthread_attr_setstacksize(&attributes, std::size_t{1} << 47);  // more than there are addresses: no thread starts
    expect(::pthread_setattr_default_np(&attributes) == 0, "cannot change the size of stacks");
    bool started = true;
    try {
      std::thread([] {}).join();
    } catch (const std::system_error&) {
      started = false;
    }
    expect(!started, "a thread was started");
    expect(tokens(file, 4) == wanted, "other tokens");
  }).text() == "ok");
}

TEST_CASE("faults: 64 file descriptors are enough; without any a load is an error, and the next one works", "[faults]") {
  const TempDir dir;
  const fs::path file = write_tiny(dir);
  const auto wanted = tokens(file);
  const auto parts = io::split_gguf(file, dir.path() / "p", {.max_tensors = 1});
  REQUIRE(parts.size() > 16);
  CHECK(run_limited([&] {
    const rlimit few{64, 64};
    ::setrlimit(RLIMIT_NOFILE, &few);
    for (const io::ReadMode mode : {io::ReadMode::map, io::ReadMode::read}) expect(tokens(parts[0], 1, mode) == wanted, "other tokens");
    std::vector<int> taken;
    for (int fd = 0; (fd = ::open("/dev/null", O_RDONLY)) >= 0;) taken.push_back(fd);
    bool refused = false;
    try {
      tokens(file);
    } catch (const Error& e) {
      refused = e.kind() == ErrorKind::io && std::string(e.what()).find(std::strerror(EMFILE)) != std::string::npos;
    }
    expect(refused, "no error that says why");
    for (const int fd : taken) ::close(fd);
    expect(tokens(file) == wanted, "other tokens afterwards");
  }).text() == "ok");
}

TEST_CASE("faults: a locale with a decimal comma changes nothing that is read or written", "[faults]") {
  const TempDir dir, other;
  const fs::path file = write_tiny(dir);
  const std::string wanted = numbers(dir.path(), file);
  CHECK(wanted.find("2.5 1e-07 1234567.25 3.14 1.5 [0.1]\n") == 0);
  CHECK(run_limited([&] {
    std::locale::global(std::locale(std::locale::classic(), new CommaNumbers));
    for (const char* name : {"de_DE.UTF-8", "fr_FR.UTF-8", "nl_NL.UTF-8", "de_DE"})  // C's own, where one is installed
      if (std::setlocale(LC_ALL, name) != nullptr) break;
    expect(numbers(other.path(), file) == wanted, numbers(other.path(), file));
  }).text() == "ok");
}

TEST_CASE("faults: a full disk is an error to every writer, the old file stays, and a place made free is enough", "[faults]") {
  const TempDir dir;
  const fs::path file = write_tiny(dir), disk = dir.path() / "disk";
  fs::create_directory(disk);
  const Model model = Model::load(file, {.threads = 1, .context = 64});
  const Adapter adapter = Adapter::create(model, {.rank = 64, .alpha = 4}, Seed{1});
  model::Importance importance;
  importance.entries()["w"] = {1, 40'000, std::vector<float>(40'000, 1.0f), {1}};
  io::GgufWriter three;  // of which one fits
  for (const char* name : {"a", "b", "c"}) three.add(name, Tensor::zeros({15'000}));
  three.write(dir.path() / "three.gguf");
  const auto o = run_limited([&] {
    if (::unshare(CLONE_NEWNS) != 0 && ::unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0)
      throw Error(ErrorKind::unsupported, "no mount name space");
    if (::mount("tmpfs", disk.c_str(), "tmpfs", 0, "size=96k") != 0) throw Error(ErrorKind::unsupported, "no tmpfs can be mounted");
    io::write_file(disk / "old", "old");
    const auto full = [&](const char* what, const std::function<void()>& write) {
      bool refused = false;
      try {
        write();
      } catch (const Error& e) {
        refused = e.kind() == ErrorKind::io && std::string(e.what()).find(std::strerror(ENOSPC)) != std::string::npos;
      }
      expect(refused, std::string(what) + ": no error that says why");
      expect(read(disk / "old") == "old", std::string(what) + ": the old file is gone");
      expect(std::distance(fs::directory_iterator(disk), {}) == 1, std::string(what) + ": something is left behind");
    };
    full("text", [&] { io::write_file(disk / "old", std::string(200'000, 'x')); });
    full("model", [&] {
      io::GgufWriter w;
      w.add("w", Tensor::zeros({50'000}));
      w.write(disk / "old");
    });
    full("importance", [&] { importance.write(disk / "old"); });
    full("adapter", [&] { adapter.save(disk / "adapter"); });
    full("parts", [&] { io::split_gguf(dir.path() / "three.gguf", disk / "p", {.max_tensors = 1}); });
    io::write_file(disk / "old", "new");
    expect(read(disk / "old") == "new", "no write works any more");
  });
  if (o.text().find("no mount name space") != std::string::npos || o.text().find("no tmpfs") != std::string::npos)
    HZ_SKIP("no tmpfs can be mounted here");
  CHECK(o.text() == "ok");
}

TEST_CASE("faults: a model whose file is replaced goes on with what it has; overwritten in place it does no harm", "[faults]") {
  const TempDir dir;
  const fs::path file = write_tiny(dir);
  const auto wanted = tokens(file);
  const auto generate = [](const Model& model) {
    Generator gen(model, {.ubatch = 8});
    Generation g = gen.generate({1, 2, 3}, {.max_tokens = 8, .temperature = 0.0f});
    while (g.next()) {}
    return g.ids();
  };
  const Model model = Model::load(file, {.threads = 1, .pack = false, .context = 64});
  fs::rename(file, dir.path() / "gone");
  io::write_file(file, "another file");
  CHECK(generate(model) == wanted);
  CHECK(error_of_call([&] { Model::load(file); }).kind() == ErrorKind::bad_file);
  const auto o = run_limited([&] {
    const std::uintmax_t size = fs::file_size(dir.path() / "gone");
    std::fstream(dir.path() / "gone", std::ios::in | std::ios::out | std::ios::binary) << std::string(size, '\xff');  // NaN in every scale
    try {
      generate(model);
    } catch (const Error& e) {
      expect(e.kind() == ErrorKind::numeric, e.what());
      return;
    }
    throw Error(ErrorKind::failed, "text came out of NaN");
  });
  CHECK(o.text() == "ok");
}
