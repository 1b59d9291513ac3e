// SPDX-License-Identifier: Apache-2.0
// State files: a resumed stream is the uninterrupted one, bit for bit; broken and foreign files are refused.
#include <cstring>
#include <fstream>
#include <functional>
#include <iterator>

#include <nlohmann/json.hpp>

#include "hanzo/engine/chat_session.hpp"
#include "hanzo/io/atomic_file.hpp"
#include "hanzo/io/sha256.hpp"
#include "hanzo/model/adapter.hpp"
#include "tests/catch.hpp"
#include "tests/model/tiny_chat.hpp"
#include "tests/temp_dir.hpp"

using namespace hz;
using namespace hz::test;

namespace {

struct StateFixture {
  TempDir dir;
  std::filesystem::path model_file = dir.path() / "m.gguf", state = dir.path() / "s.state";
  StateFixture() { write_tiny_chat(model_file); }
  Model load(LoadOptions options = {}) const { return Model::load(model_file, options); }
};

struct Said {
  std::vector<std::int32_t> ids;
  std::string text;
};
Said finish(Generation& g) {
  while (g.next()) {
  }
  return {g.ids(), g.text()};
}
Said operator+(Said a, const Said& b) {
  a.ids.insert(a.ids.end(), b.ids.begin(), b.ids.end());
  a.text += b.text;
  return a;
}

GenerateOptions options_for(int kind) {
  GenerateOptions o{.temperature = 1, .sampling = {.repeat_last_n = -1, .repeat_penalty = 1.1f, .ignore_eos = true}};
  if (kind == 1) o.sampling.mirostat = 2;
  if (kind == 2) o.grammar = Grammar::from_gbnf("root ::= [a-z0-9 ]{400}");
  return o;
}

// Runs `whole` tokens at once, and in two parts with the state in a file between them.
void compare(const Model& model, const GenerateOptions& base, const std::string& prompt, std::int64_t first, std::int64_t rest,
             const std::filesystem::path& file) {
  Generator gen(model);
  GenerateOptions o = base;
  o.max_tokens = first + rest;
  Generation whole = gen.complete(prompt, o);
  const Said want = finish(whole);

  Generator begin(model);
  o.max_tokens = first;
  o.seed = whole.seed();
  Generation one = begin.complete(prompt, o);
  Said got = finish(one);
  begin.save_state(file, one.state());

  Generator end(model);
  o.max_tokens = rest;
  o.seed.reset();
  const StreamState s = end.load_state(file);
  Generation two = end.resume(s, o);
  got = got + finish(two);
  CHECK(got.ids == want.ids);
  CHECK(two.seed() == whole.seed());
  CHECK(two.stats().reused_tokens / 64 * 64 == two.stats().reused_tokens);
  if (got.text.find("\xef\xbf\xbd") == std::string::npos) CHECK(got.text == want.text);
  CHECK(two.answer() == want.text);
}

std::string read(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void write(const std::filesystem::path& file, const std::string& bytes) { std::ofstream(file, std::ios::binary) << bytes; }

// The file with another header, its hash made right again: what a forger can do.
std::string forged(const std::string& good, const std::function<void(nlohmann::json&)>& change) {
  std::uint32_t length = 0;
  std::memcpy(&length, good.data() + 12, 4);
  nlohmann::json header = nlohmann::json::parse(good.substr(16, length));
  change(header);
  const std::string text = header.dump();
  const auto written = static_cast<std::uint32_t>(text.size());
  std::string out = good.substr(0, 12) + std::string(reinterpret_cast<const char*>(&written), 4) + text;
  out.resize((out.size() + 63) / 64 * 64);
  const std::size_t body = (16 + length + 63) / 64 * 64;
  out += good.substr(body, good.size() - 32 - body);
  const auto digest = io::Sha256().update(out).digest();
  return out + std::string(reinterpret_cast<const char*>(digest.data()), digest.size());
}

// The message of the error, of this kind, that loading gives.
std::string refused(const Model& model, const std::filesystem::path& file, ErrorKind kind = ErrorKind::bad_file) {
  try {
    read_state(file, model);
  } catch (const Error& e) {
    CHECK(e.kind() == kind);
    CHECK(e.where() == file.string());
    return e.what();
  }
  return "no error";
}

}  // namespace

TEST_CASE_METHOD(StateFixture, "a resumed stream is the one that was never stopped", "[engine]") {
  for (const KvKind kv : {KvKind::f16, KvKind::f32}) {
    const Model model = load({.kv = kv});
    for (int kind = 0; kind < 3; ++kind)
      for (const std::int64_t first : {1, 5, 62, 63, 64, 65, 140}) compare(model, options_for(kind), "hello world", first, 30, state);
  }
}

TEST_CASE_METHOD(StateFixture, "a stop string over the border of a resumed stream is found, and nothing is told twice", "[engine]") {
  const Model model = load();
  GenerateOptions o = options_for(2);
  o.seed = 3;
  o.max_tokens = 60;
  Generator gen(model);
  Generation whole = gen.complete("hello", o);
  const std::string text = finish(whole).text;
  for (std::int64_t first = 10; first < 20; ++first)
    for (const std::size_t length : {2u, 5u, 9u}) {
      o.stop_strings = {text.substr(static_cast<std::size_t>(first), length)};
      compare(model, o, "hello", first + 2, 60, state);
    }
}

TEST_CASE_METHOD(StateFixture, "the same stream gives the same file, whatever ran before in the process", "[engine]") {
  const Model model = load();
  std::string files[2];
  for (int i = 0; i < 2; ++i) {
    Generator gen(model);
    if (i == 1) {
      Generation noise = gen.generate(std::vector<std::int32_t>(300, 77), {.max_tokens = 9});
      finish(noise);
    }
    Generation g = gen.complete("the same", {.max_tokens = 150, .temperature = 0, .seed = 1, .sampling = {.ignore_eos = true}});
    finish(g);
    gen.save_state(state, g.state());
    files[i] = read(state);
  }
  CHECK(files[0].size() > 4096);
  CHECK(files[0] == files[1]);
}

TEST_CASE_METHOD(StateFixture, "a state of another model, cache or context is refused by name", "[engine]") {
  const Model model = load();
  Generator gen(model);
  Generation g = gen.complete("hello world", {.max_tokens = 80, .temperature = 0, .sampling = {.ignore_eos = true}});
  finish(g);
  gen.save_state(state, g.state());
  CHECK(refused(model, state) == "no error");
  CHECK(refused(load({.kv = KvKind::f32}), state).find("another kind of KV cache: f16, here it is f32") != std::string::npos);
  CHECK(refused(load({.activations = nn::Activations::f32}), state).find("kind of activations") != std::string::npos);
  CHECK(refused(load({.device = "reference"}), state).find("another backend") != std::string::npos);
  CHECK(refused(load({.threads = 1, .pack = false, .read_mode = io::ReadMode::read}), state) == "no error");
  write_tiny_chat(dir.path() / "other.gguf", 2);  // one number of its metadata differs
  CHECK(refused(Model::load(dir.path() / "other.gguf"), state).find("another model") != std::string::npos);
  Generator small(load({.context = 64}));
  try {
    small.load_state(state);
    FAIL("no error");
  } catch (const Error& e) {
    CHECK(e.kind() == ErrorKind::usage);
    CHECK(std::string(e.what()).find("64") != std::string::npos);
  }
}

TEST_CASE_METHOD(StateFixture, "keys and values of one adapter are not another's: its factors, strength and later training tell",
                 "[engine]") {
  const Model base = load();
  const Adapter first = Adapter::create(base, {.rank = 2}, Seed{1}), second = Adapter::create(base, {.rank = 2}, Seed{2});
  for (const Adapter* a : {&first, &second})
    for (const Var& v : a->parameters()) v.tensor().data<float>()[0] = 0.25f;
  const Model with = base.with_adapter(first);
  Generator gen(with);
  Generation g = gen.complete("hello", {.max_tokens = 4, .temperature = 0});
  finish(g);
  gen.save_state(state, g.state());
  CHECK(refused(with, state) == "no error");
  CHECK(refused(base.with_adapter(first), state) == "no error");  // the same one attached anew
  for (const Model& other : {base, base.with_adapter(second), base.with_adapter(first, 0.5f), with.with_adapter(second)})
    CHECK(refused(other, state).find("another set of adapters") != std::string::npos);
  first.parameters()[1].tensor().data<float>()[0] = 0.5f;  // trained on
  CHECK(refused(with, state).find("another set of adapters") != std::string::npos);
}

TEST_CASE_METHOD(StateFixture, "what was cached before a model was trained on is not used after", "[engine]") {
  Model model = load();
  const Adapter adapter = nn::attach_lora(model, {.rank = 4}, Seed{1});
  Generator gen(model);
  const GenerateOptions o{.max_tokens = 8, .temperature = 0, .sampling = {.ignore_eos = true}};
  Generation before = gen.complete("hello hello hello", o);
  finish(before);
  for (const Var& v : adapter.parameters()) {
    for (float& x : v.tensor().span<float>()) x += 0.5f;
    v.touch();
  }
  Generation after = gen.complete("hello hello hello", o);
  Generator fresh(model);
  Generation want = fresh.complete("hello hello hello", o);
  CHECK(finish(after).ids == finish(want).ids);
  CHECK(after.stats().reused_tokens == 0);
  Generation again = gen.complete("hello hello hello", o);
  finish(again);
  CHECK(again.stats().reused_tokens > 0);
}

TEST_CASE_METHOD(StateFixture, "a state file that is cut, grown or altered anywhere is refused", "[engine]") {
  const Model model = load();
  Generator gen(model);
  Generation g = gen.complete("hello world", {.max_tokens = 70, .temperature = 0, .sampling = {.ignore_eos = true}});
  finish(g);
  gen.save_state(state, g.state());
  const std::string good = read(state);
  const auto altered = dir.path() / "altered.state";
  const auto refuses = [&](const std::string& bytes) {
    write(altered, bytes);
    return refused(model, altered).find("no usable state file") != std::string::npos;
  };
  for (const std::size_t keep : {std::size_t{0}, std::size_t{7}, std::size_t{15}, std::size_t{40}, good.size() / 2, good.size() - 1})
    CHECK(refuses(good.substr(0, keep)));
  CHECK(refuses(good + "x"));
  CHECK(refuses(good + good));
  for (std::size_t at = 0; at < good.size(); at += at < 700 ? 1 : 997) {
    std::string bad = good;
    bad[at] = static_cast<char>(bad[at] ^ 0x41);
    CHECK(refuses(bad));
  }
  CHECK(refused(model, dir.path() / "absent.state", ErrorKind::io).find("cannot open") != std::string::npos);
  CHECK(refused(model, dir.path(), ErrorKind::io).find("this is a folder") != std::string::npos);
  CHECK(refused(model, model_file).find("does not begin as one") != std::string::npos);
  write(altered, good);
  // A terabyte of holes: refused by its first bytes, or by the size that its header tells of, before memory is asked for.
  std::filesystem::resize_file(altered, std::uintmax_t{1} << 40);
  CHECK(refused(model, altered).find("its header tells of") != std::string::npos);
  write(altered, "");
  std::filesystem::resize_file(altered, std::uintmax_t{1} << 40);
  CHECK(refused(model, altered).find("does not begin as one") != std::string::npos);
}

TEST_CASE_METHOD(StateFixture, "a forged state file with a right hash is refused field by field", "[engine]") {
  const Model model = load();
  Generator gen(model);
  Generation g = gen.complete("hello world", {.max_tokens = 70, .temperature = 0, .sampling = {.ignore_eos = true}});
  finish(g);
  gen.save_state(state, g.state());
  const std::string good = read(state);
  const auto file = dir.path() / "forged.state";
  const auto after = [&](const std::function<void(nlohmann::json&)>& change) {
    write(file, forged(good, change));
    return refused(model, file);
  };
  using nlohmann::json;
  CHECK(after([](json&) {}) == "no error");
  for (const char* name : {"ids", "page_bytes", "answer_begin", "seed", "stream", "mirostat_mu", "conversation", "model", "kv"})
    for (const json& value : {json(nullptr), json(-1), json(0.5), json::array(), json::object()}) {
      if (name == std::string("mirostat_mu") && value.is_number()) continue;
      INFO(name << " = " << value);
      CHECK(after([&](json& h) { h[name] = value; }) != "no error");
    }
  for (const std::uint64_t n : {std::uint64_t{0}, std::uint64_t{1} << 40, ~std::uint64_t{0}, ~std::uint64_t{0} / 4 + 1}) {
    CHECK(after([&](json& h) { h["ids"] = n; }).find("its header tells of") != std::string::npos);
    CHECK(after([&](json& h) { h["page_bytes"] = n; }).find("its header tells of") != std::string::npos);
  }
  CHECK(after([](json& h) { h["answer_begin"] = 1000000; }).find("behind its end") != std::string::npos);
  CHECK(after([](json& h) { h.clear(); }).find("no valid 'ids'") != std::string::npos);
  // Bytes that are moved from the pages to the ids: the sizes agree, the ids are none.
  const auto moved = after([](json& h) {
    h["ids"] = h["ids"].get<std::uint64_t>() + 256;
    h["page_bytes"] = h["page_bytes"].get<std::uint64_t>() - 1024;
  });
  CHECK(moved.find("it holds token") != std::string::npos);
}

TEST_CASE_METHOD(StateFixture, "a failed load leaves the generator as it was", "[engine]") {
  const Model model = load();
  Generator gen(model);
  const GenerateOptions o{.max_tokens = 10, .temperature = 0, .sampling = {.ignore_eos = true}};
  Generation before = gen.complete("hello", o);
  const Said want = finish(before);
  io::write_file(state, "HZSTATE\nrubbish");
  CHECK_THROWS_AS(gen.load_state(state), Error);
  Generation after = gen.complete("hello", o);
  CHECK(finish(after).ids == want.ids);
}
