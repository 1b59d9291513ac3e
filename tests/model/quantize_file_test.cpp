// SPDX-License-Identifier: Apache-2.0
// Quantizing files: recipes, fallbacks, refusals, whole files or none, the same bytes for any thread count.
#include "hanzo/model/quantize_file.hpp"

#include <errno.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <map>

#include "hanzo/io/gguf_split.hpp"
#include "tests/catch.hpp"
#include "tests/errors.hpp"
#include "tests/faults.hpp"
#include "tests/model/tiny_model.hpp"
#include "tests/temp_dir.hpp"

using namespace hz;
using test::error_of_call;
using namespace hz::model;
namespace fs = std::filesystem;

namespace {

fs::path tiny(const test::TempDir& dir, test::TinySpec spec = {.hidden = 256, .ff = 512, .vocab = 64, .head_dim = 64}) {
  const fs::path file = dir.path() / "tiny.gguf";
  test::TinyModel(spec).write(file);
  return file;
}
QuantizeFileOptions options(const char* recipe, int threads = 1) {
  QuantizeFileOptions o;
  o.recipe = find_recipe(recipe);
  REQUIRE(o.recipe != nullptr);
  o.threads = threads;
  return o;
}
std::string content(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}
std::map<std::string, std::string> types_of(const fs::path& file) {
  std::map<std::string, std::string> types;
  const io::Gguf g = io::Gguf::open(file);
  for (const io::GgufTensor& t : g.tensors()) types[t.name] = t.type_name();
  return types;
}
std::size_t files_in(const fs::path& folder) {
  return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
}

// Mean squares 0.5 .. 1.5 for every matrix of the file.
Importance importance_for(const fs::path& file) {
  Importance m;
  const io::Gguf g = io::Gguf::open(file);
  for (const io::GgufTensor& t : g.tensors()) {
    if (t.shape.rank() < 2) continue;
    ImportanceEntry e;
    e.experts = t.shape.rank() == 3 ? t.shape[0] : 1;
    e.cols = t.shape.back();
    for (std::int64_t i = 0; i < e.experts * e.cols; ++i) e.sums.push_back(0.5f + static_cast<float>(i % 7) / 7);
    e.counts.assign(static_cast<std::size_t>(e.experts), 1.0f);
    m.entries()[t.name] = e;
  }
  return m;
}

}  // namespace

TEST_CASE("a recipe names the type of every tensor of a mix") {
  const Place base{.layers = 16};
  const auto type = [&](const char* recipe, Role role, std::int64_t layer = 5, std::int64_t gqa = 1, std::int64_t experts = 0) {
    Place p = base;
    p.role = role;
    p.layer = layer;
    p.queries_per_kv = gqa;
    p.experts = experts;
    return std::string(name_of(type_for(*find_recipe(recipe), p)));
  };
  CHECK(type("Q4_K_M", Role::ffn_down, 0) == "Q6_K");   // the first eighth
  CHECK(type("Q4_K_M", Role::ffn_down, 2) == "Q4_K");
  CHECK(type("Q4_K_M", Role::ffn_down, 4) == "Q6_K");   // every third between
  CHECK(type("Q4_K_M", Role::ffn_down, 15) == "Q6_K");  // the last eighth
  CHECK(type("Q4_K_M", Role::attn_q) == "Q4_K");
  CHECK(type("Q4_K_M", Role::output) == "Q6_K");
  CHECK(type("Q4_K_S", Role::attn_v, 3) == "Q5_K");
  CHECK(type("Q4_K_S", Role::attn_v, 4) == "Q4_K");
  CHECK(type("Q3_K_M", Role::attn_v, 1) == "Q5_K");
  CHECK(type("Q3_K_M", Role::attn_v, 2) == "Q4_K");
  CHECK(type("Q3_K_L", Role::attn_output) == "Q5_K");
  CHECK(type("Q2_K", Role::ffn_up) == "Q2_K");
  CHECK(type("Q2_K", Role::attn_v, 5, 4) == "Q4_K");
  CHECK(type("IQ2_XXS", Role::embedding) == "Q2_K");
  CHECK(type("IQ4_XS", Role::attn_v, 9, 8) == "Q5_K");
  CHECK(type("IQ4_XS", Role::attn_k, 9, 1, 8) == "Q8_0");
  CHECK(type("Q8_0", Role::output) == "Q8_0");
  CHECK(type("F16", Role::output) == "F16");
  CHECK(find_recipe("q4-k-m") == find_recipe("Q4_K_M"));
  CHECK(find_recipe("Q4_K") == find_recipe("Q4_K_M"));
  CHECK(find_recipe("Q4_KM") == nullptr);
  CHECK(near_recipes("Q4_KM").find("Q4_K_M") != std::string::npos);
  for (const Recipe& r : recipes()) CHECK(quant::info(r.base).weight);
}

TEST_CASE("rows that blocks do not divide get the documented narrower type") {
  CHECK(fallback_for(WType::q4_k, 512) == WType::q4_k);
  CHECK(fallback_for(WType::q4_k, 576) == WType::q5_0);
  CHECK(fallback_for(WType::q5_k, 576) == WType::q5_1);
  CHECK(fallback_for(WType::q6_k, 576) == WType::q8_0);
  CHECK(fallback_for(WType::q2_k, 576) == WType::q4_0);
  CHECK(fallback_for(WType::q3_k, 576) == WType::q4_0);
  CHECK(fallback_for(WType::tq2_0, 576) == WType::q4_0);
  CHECK(fallback_for(WType::iq4_xs, 576) == WType::iq4_nl);
  CHECK(fallback_for(WType::iq1_s, 576) == WType::iq4_nl);
  CHECK(fallback_for(WType::q8_0, 40) == WType::f16);
  CHECK(fallback_for(WType::iq3_s, 40) == WType::f16);
}

TEST_CASE("every recipe writes a file that reads back near its source") {
  const test::TempDir dir;
  const fs::path in = tiny(dir), out = dir.path() / "out.gguf";
  const Importance importance = importance_for(in);
  const io::Gguf source = io::Gguf::open(in);
  for (const Recipe& r : recipes()) {
    INFO(r.name);
    QuantizeFileOptions o = options(std::string(r.name).c_str(), 2);
    o.importance = &importance;
    const QuantizeSummary s = quantize_file(in, out, o);
    const io::Gguf result = io::Gguf::open(out);
    CHECK(result.metadata().require<std::uint32_t>("general.file_type") == r.file_type);
    CHECK(result.tensors().size() == source.tensors().size());
    std::uint64_t bytes = 0;
    for (const io::GgufTensor& t : result.tensors()) {
      CHECK(t.shape == source.find(t.name)->shape);
      CHECK(result.tensor(t.name).first_bad_row(0, t.shape.rows()) == -1);
      bytes += t.nbytes;
    }
    CHECK(bytes == s.bytes_out);
    CHECK(s.fallbacks == 0);
    for (const TypeSummary& t : s.types) CHECK(t.worst_error < 0.8);
    const auto plan = plan_quantize(source, o);
    CHECK(plan.bytes_out == s.bytes_out);
  }
}

TEST_CASE("the file is the same for any thread count") {
  const test::TempDir dir;
  const fs::path in = tiny(dir);
  quantize_file(in, dir.path() / "one.gguf", options("Q4_K_M", 1));
  quantize_file(in, dir.path() / "three.gguf", options("Q4_K_M", 3));
  CHECK(content(dir.path() / "one.gguf") == content(dir.path() / "three.gguf"));
}

TEST_CASE("options choose the types of single tensors") {
  const test::TempDir dir;
  const fs::path in = tiny(dir), out = dir.path() / "out.gguf";
  QuantizeFileOptions o = options("Q4_K_M");
  o.types = {{"blk\\.0\\.ffn", WType::q8_0}, {"ffn_down", WType::q3_k}};
  o.output_type = WType::q5_0;
  o.embedding_type = WType::iq4_nl;
  quantize_file(in, out, o);
  auto t = types_of(out);
  CHECK(t["blk.0.ffn_down.weight"] == "Q8_0");
  CHECK(t["blk.1.ffn_down.weight"] == "Q3_K");
  CHECK(t["output.weight"] == "Q5_0");
  CHECK(t["token_embd.weight"] == "IQ4_NL");
  CHECK(t["blk.0.attn_norm.weight"] == "F32");
  o = options("Q4_K_M");
  o.pure = true;
  quantize_file(in, out, o);
  t = types_of(out);
  CHECK(t["output.weight"] == "Q4_K");
  CHECK(t["blk.0.ffn_down.weight"] == "Q4_K");
  o.types = {{"(", WType::q8_0}};
  CHECK(error_of_call([&] { quantize_file(in, out, o); }).kind() == ErrorKind::usage);
}

TEST_CASE("fallbacks are counted, and refused when strict") {
  const test::TempDir dir;
  const fs::path in = tiny(dir, {}), out = dir.path() / "out.gguf";  // rows of 64 and 96
  QuantizeFileOptions o = options("Q4_K_M");
  CHECK(quantize_file(in, out, o).fallbacks == 16);
  CHECK(types_of(out)["blk.0.attn_q.weight"] == "Q5_0");
  fs::remove(out);
  o.strict = true;
  CHECK(error_of_call([&] { quantize_file(in, out, o); }).kind() == ErrorKind::usage);
  CHECK(!fs::exists(out));
}

TEST_CASE("quantized sources are refused unless that is wanted") {
  const test::TempDir dir;
  const fs::path in = tiny(dir), q8 = dir.path() / "q8.gguf", q4 = dir.path() / "q4.gguf";
  quantize_file(in, q8, options("Q8_0"));
  QuantizeFileOptions o = options("Q4_0");
  const Error e = error_of_call([&] { quantize_file(q8, q4, o); });
  CHECK(e.kind() == ErrorKind::usage);
  CHECK(e.hint().find("--requantize") != std::string::npos);
  o.requantize = true;
  quantize_file(q8, q4, o);
  CHECK(types_of(q4)["blk.0.attn_q.weight"] == "Q4_0");
  // The same type is copied, not encoded again.
  quantize_file(q8, q4, options("Q8_0"));
  const auto a = io::Gguf::open(q8).bytes("output.weight"), b = io::Gguf::open(q4).bytes("output.weight");
  CHECK(a.size() == b.size());
}

TEST_CASE("types that need an importance matrix say how to make one") {
  const test::TempDir dir;
  const fs::path in = tiny(dir), out = dir.path() / "out.gguf";
  for (const char* recipe : {"IQ1_S", "IQ1_M", "IQ2_XXS", "IQ2_XS", "IQ2_S"}) {
    INFO(recipe);
    const Error e = error_of_call([&] { quantize_file(in, out, options(recipe)); });
    CHECK(e.kind() == ErrorKind::usage);
    CHECK(e.hint().find("hz-quantize imatrix") != std::string::npos);
  }
  Importance wrong = importance_for(in);
  wrong.entries()["blk.0.attn_q.weight"].cols = 128;
  wrong.entries()["blk.0.attn_q.weight"].sums.resize(128);
  QuantizeFileOptions o = options("Q4_K_M");
  o.importance = &wrong;
  CHECK(error_of_call([&] { quantize_file(in, out, o); }).kind() == ErrorKind::usage);
  CHECK(files_in(dir.path()) == 1);
}

TEST_CASE("experts are quantized each with its own importance") {
  const test::TempDir dir;
  const fs::path in = tiny(dir, {.hidden = 256, .ff = 256, .vocab = 64, .head_dim = 64, .experts = 4, .experts_used = 2}),
                 out = dir.path() / "out.gguf";
  Importance m = importance_for(in);
  ImportanceEntry& e = m.entries()["blk.0.ffn_up_exps.weight"];
  for (std::int64_t i = 0; i < e.cols; ++i) e.sums[static_cast<std::size_t>(2 * e.cols + i)] = i < 32 ? 100.0f : 0.01f;
  QuantizeFileOptions o = options("Q3_K_S");
  o.importance = &m;
  quantize_file(in, out, o);
  const io::Gguf a = io::Gguf::open(in), b = io::Gguf::open(out);
  CHECK(b.find("blk.0.ffn_gate_inp.weight")->type == WType::f32);
  // Expert 2 alone, encoded with its row of the matrix, has the same bytes.
  const QTensor whole = b.tensor("blk.0.ffn_up_exps.weight");
  const auto means = m.means("blk.0.ffn_up_exps.weight", 4, 256);
  const QTensor alone =
      quantize(a.tensor("blk.0.ffn_up_exps.weight").expert(2).decode(), WType::q3_k, {.importance = std::span(means).subspan(512, 256)});
  CHECK(std::memcmp(whole.expert(2).bytes().data(), alone.bytes().data(), alone.nbytes()) == 0);
}

TEST_CASE("the output may not be the input, under no name") {
  const test::TempDir dir;
  const fs::path in = tiny(dir);
  const std::string before = content(in);
  fs::create_symlink(in, dir.path() / "soft.gguf");
  fs::create_hard_link(in, dir.path() / "hard.gguf");
  for (const fs::path& out : {in, dir.path() / "soft.gguf", dir.path() / "hard.gguf", dir.path() / "." / "tiny.gguf"}) {
    INFO(out);
    CHECK(error_of_call([&] { quantize_file(in, out, options("Q4_0")); }).kind() == ErrorKind::usage);
  }
  CHECK(content(in) == before);
}

TEST_CASE("a split input stays split when wanted, else becomes one file") {
  const test::TempDir dir;
  const auto parts = io::split_gguf(tiny(dir), dir.path() / "parts", {.max_tensors = 8});
  REQUIRE(parts.size() == 3);
  QuantizeFileOptions o = options("Q4_K_M");
  quantize_file(parts[0], dir.path() / "whole.gguf", o);
  o.keep_split = true;
  const QuantizeSummary s = quantize_file(parts[0], dir.path() / "q.gguf", o);
  REQUIRE(s.files.size() == 3);
  io::merge_gguf(s.files[0], dir.path() / "merged.gguf");
  CHECK(content(dir.path() / "merged.gguf") == content(dir.path() / "whole.gguf"));
  CHECK(error_of_call([&] { quantize_file(parts[0], dir.path() / "q.gguf", o); }).kind() == ErrorKind::usage);  // parts exist
}

TEST_CASE("weights that are not finite stop the work, and no file is left") {
  const test::TempDir dir;
  io::GgufWriter w;
  w.metadata().set("general.architecture", {std::string("llama")});
  Tensor t = Tensor::zeros({4, 256});
  t.data<float>()[700] = std::numeric_limits<float>::quiet_NaN();
  w.add("blk.0.attn_q.weight", t);
  w.write(dir.path() / "in.gguf");
  const Error e = error_of_call([&] { quantize_file(dir.path() / "in.gguf", dir.path() / "out.gguf", options("Q4_K_M")); });
  CHECK(e.kind() == ErrorKind::bad_file);
  CHECK(std::string(e.what()).find("row 2") != std::string::npos);
  CHECK(files_in(dir.path()) == 1);
}

TEST_CASE("a full disk, a failed call or a stop leave the folder as it was") {
  const test::TempDir dir;
  const fs::path in = tiny(dir), out = dir.path() / "out.gguf";
  quantize_file(in, out, options("Q8_0"));
  const std::string before = content(out);
  for (const test::Call call : {test::Call::write, test::Call::fsync, test::Call::rename, test::Call::open}) {
    INFO(test::name_of(call));
    const auto met = test::with_each_call_failing(
        call, ENOSPC, [&] { quantize_file(in, out, options("Q4_0")); },
        [&](const test::Attempt& a) {
          CHECK(!a.foreign);
          CHECK(files_in(dir.path()) == 2);
          if (a.failed && call != test::Call::fsync && call != test::Call::open) {
            CHECK(content(out) == before);
          } else {
            quantize_file(in, out, options("Q8_0"));
          }
        });
    CHECK(met > 0);
  }
  std::stop_source stop;
  int reports = 0;
  const Progress progress{[&](std::string_view, std::uint64_t, std::uint64_t) {
                            if (++reports == 5) stop.request_stop();
                          },
                          stop.get_token()};
  CHECK(error_of_call([&] { quantize_file(in, out, options("Q4_0"), progress); }).kind() == ErrorKind::cancelled);
  CHECK(content(out) == before);
  CHECK(files_in(dir.path()) == 2);
}

TEST_CASE("a process killed while it quantizes leaves the old file or none") {
  const test::TempDir dir;
  const fs::path in = tiny(dir, {.layers = 4, .hidden = 256, .ff = 1024, .vocab = 512, .head_dim = 64}), out = dir.path() / "out.gguf";
  for (int delay = 1; delay <= 40; delay += 3) {
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      try {
        quantize_file(in, out, options("IQ3_S", 1));
      } catch (...) {
      }
      ::_exit(0);
    }
    ::usleep(static_cast<useconds_t>(delay * 4000));
    ::kill(child, SIGKILL);
    int status = 0;
    ::waitpid(child, &status, 0);
    if (!fs::exists(out)) continue;
    const io::Gguf whole = io::Gguf::open(out);
    CHECK(whole.tensors().size() == io::Gguf::open(in).tensors().size());
  }
}
