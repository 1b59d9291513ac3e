// SPDX-License-Identifier: Apache-2.0
// Adapters, importance matrices, data files and checkpoints while memory or the system fails: a clean error each time,
// nothing leaked, the old file whole, the next attempt works. Cut and changed adapter files are refused.
#include <sys/stat.h>

#include <cerrno>
#include <fstream>
#include <iterator>

#include "hanzo/io/atomic_file.hpp"
#include "hanzo/model/adapter.hpp"
#include "hanzo/model/importance.hpp"
#include "hanzo/train/checkpoint.hpp"
#include "tests/catch.hpp"
#include "tests/errors.hpp"
#include "tests/faults.hpp"
#include "tests/model/tiny_model.hpp"
#include "tests/temp_dir.hpp"
#include "tests/train/text_side.hpp"

namespace fs = std::filesystem;
using namespace hz;
using namespace hz::test;

namespace {

struct Fixture {
  TempDir dir;
  Model model;
  Adapter adapter;
  Fixture() : model(load(dir)), adapter(Adapter::create(model, {.rank = 2, .alpha = 4, .targets = "attn_q"}, Seed{1})) {}
  static Model load(const TempDir& dir) {
    TinyModel({.layers = 1, .hidden = 32, .ff = 32, .vocab = 24, .heads = 2, .kv_heads = 1, .type = WType::q8_0})
        .write(dir.path() / "m.gguf");
    return Model::load(dir.path() / "m.gguf", {.threads = 1, .context = 32});
  }
};

std::string read(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

bool always() { return true; }

// Every system call of `action` fails once; what it leaves behind is looked at by `whole`. Returns the faults met. With
// `allocations` each of those fails once too: not where JSON is held, whose library allocates in order to free.
std::int64_t each_fault(const std::function<void()>& action, const std::function<bool()>& whole = always, bool allocations = false) {
  const auto run = [&] {
    action();
    trim_host_arena();
  };
  run();
  const std::size_t files = open_files();
  std::int64_t met = 0;
  const auto check = [&](const Attempt& a) {
    INFO(a.error);
    CHECK_FALSE(a.foreign);
    CHECK(open_files() == files);
    CHECK(whole());
  };
  for (const Call call : {Call::open, Call::fstat, Call::pread, Call::write, Call::fsync, Call::rename, Call::mmap})
    for (const int error : {EIO, ENOSPC})
      met += with_each_call_failing(call, error, run, [&](const Attempt& a) {
        CHECK(a.failed == a.fired);
        check(a);
      });
  if (allocations) met += with_each_allocation_failing(run, check);
  run();
  return met;
}

}  // namespace

TEST_CASE("faults: loading an adapter fails cleanly at every call", "[faults][adapter]") {
  const Fixture f;
  f.adapter.save(f.dir.path() / "a");
  CHECK(each_fault([&] { Adapter::load(f.dir.path() / "a", f.model); }) > 10);
}

TEST_CASE("faults: saving an adapter leaves the old folder or the new one", "[faults][adapter]") {
  const Fixture f;
  const fs::path folder = f.dir.path() / "a";
  CHECK(each_fault(
            [&] {
              fs::remove_all(folder);
              f.adapter.save(folder);
            },
            [&] { return !fs::exists(folder) || Adapter::load(folder, f.model).targets().size() == 1; }) > 10);
  CHECK(std::distance(fs::directory_iterator(f.dir.path()), {}) == 2);  // the model and the folder
}

TEST_CASE("faults: an adapter saved over another is the old one, the new one or refused, never a mix", "[faults][adapter]") {
  const Fixture f;
  const Adapter other = Adapter::create(f.model, {.rank = 2, .alpha = 16, .targets = "attn_q"}, Seed{2});
  const fs::path folder = f.dir.path() / "a";
  fs::create_directory(folder);
  io::write_file(folder / "notes.txt", "mine");
  std::string mixed[2];  // the weights of each, by which a mix is known
  f.adapter.save(folder);
  mixed[0] = read(folder / "adapter_model.safetensors");
  other.save(folder);
  mixed[1] = read(folder / "adapter_model.safetensors");
  REQUIRE(mixed[0] != mixed[1]);
  const auto whole = [&] {
    const float alpha = Adapter::load(folder, f.model).targets()[0].alpha;
    return read(folder / "adapter_model.safetensors") == mixed[alpha == 16] && read(folder / "notes.txt") == "mine" &&
           std::distance(fs::directory_iterator(folder), {}) == 3;
  };
  bool first = false;
  CHECK(each_fault([&] { ((first = !first) ? f.adapter : other).save(folder); }, whole) > 10);
}

TEST_CASE("adapter files cut anywhere are refused", "[faults][adapter]") {
  const Fixture f;
  const fs::path folder = f.dir.path() / "a", cut = f.dir.path() / "cut";
  f.adapter.save(folder);
  fs::create_directory(cut);
  for (const char* name : {"adapter_config.json", "adapter_model.safetensors"}) {
    fs::copy(folder, cut, fs::copy_options::overwrite_existing);
    const std::string whole = read(folder / name);
    for (std::size_t n = 0; n + 2 < whole.size(); n += n < 64 ? 1 : 9) {  // without its last brace and line end a configuration is none
      std::ofstream(cut / name, std::ios::binary | std::ios::trunc) << whole.substr(0, n);
      CHECK(error_of_call([&] { Adapter::load(cut, f.model); }).kind() == ErrorKind::bad_file);
    }
  }
}

TEST_CASE("an adapter's folder with something else than files in it is refused, not waited for", "[faults][adapter]") {
  const Fixture f;
  const fs::path folder = f.dir.path() / "a";
  f.adapter.save(folder);
  for (const char* name : {"adapter_config.json", "adapter_model.safetensors"}) {
    fs::rename(folder / name, f.dir.path() / "kept");
    REQUIRE(::mkfifo((folder / name).c_str(), 0600) == 0);
    CHECK(std::string(error_of_call([&] { Adapter::load(folder, f.model); }).what()).find("not a regular file") != std::string::npos);
    fs::remove(folder / name);
    fs::create_directory(folder / name);
    CHECK(std::string(error_of_call([&] { Adapter::load(folder, f.model); }).what()).find("a folder") != std::string::npos);
    fs::remove(folder / name);
    fs::rename(f.dir.path() / "kept", folder / name);
  }
}

TEST_CASE("a path that cannot even be looked at is an error of ours to every reader", "[faults][adapter]") {
  const Fixture f;
  const fs::path loop = f.dir.path() / "loop", name = f.dir.path() / std::string(300, 'a');
  fs::create_symlink(loop, loop);
  for (const fs::path& path : {loop, name, name / "b"}) {
    CHECK(error_of_call([&] { Adapter::load(path, f.model); }).kind() == ErrorKind::io);
    CHECK(error_of_call([&] { model::Importance::read(path); }).kind() == ErrorKind::io);
    CHECK(error_of_call([&] { text::Tokenizer::from_hf(path); }).kind() == ErrorKind::io);
    CHECK(error_of_call([&] { Model::load(path); }).kind() == ErrorKind::io);
    CHECK(error_of_call([&] { train::check_dataset(path); }).kind() == ErrorKind::io);
    CHECK(error_of_call([&] { f.adapter.save(path); }).kind() == ErrorKind::io);
  }
}

TEST_CASE("faults: importance matrices fail cleanly at every call and allocation", "[faults]") {
  const TempDir dir;
  model::Importance m;
  m.entries()["blk.0.attn_q.weight"] = {1, 4, {2, 4, 6, 8}, {2}};
  const fs::path file = dir.path() / "i.gguf";
  CHECK(each_fault([&] { m.write(file); }, [&] { return !fs::exists(file) || model::Importance::read(file).entries().size() == 1; }, true) >
        20);
  CHECK(each_fault([&] { model::Importance::read(file); }, always, true) > 20);
  CHECK(std::distance(fs::directory_iterator(dir.path()), {}) == 1);
}

TEST_CASE("faults: a data file fails cleanly at every call", "[faults][data]") {
  const TempDir dir;
  const train::TextSide text = small_text_side();
  const fs::path file = dir.path() / "d.jsonl";
  put_text(file, "{\"text\": \"one\"}\n{\"messages\": 1}\n{\"text\": \"and another\"}\n");
  CHECK(each_fault([&] { train::load_dataset(file, text); }) > 3);
}

TEST_CASE("faults: a checkpoint is written whole or not at all, and the one before it stays", "[faults][train]") {
  const TempDir dir;
  const train::Checkpoints all(dir.path(), 2);
  const auto at = [](std::int64_t step) {
    train::Checkpoint c;
    c.state.step = step;
    c.tensors["optimizer.m.w"] = Tensor::from(std::vector<float>(3, static_cast<float>(step)), Shape{3});
    return c;
  };
  all.save(at(1));
  std::int64_t step = 1;
  const auto whole = [&] {
    const auto last = all.latest();
    return last && last->state.step >= 1 && last->find("optimizer.m.w")->span<float>()[2] == static_cast<float>(last->state.step);
  };
  CHECK(each_fault([&] { all.save(at(++step)); }, whole) > 10);
  CHECK(each_fault([&] { static_cast<void>(all.latest()); }) > 5);
}
