// SPDX-License-Identifier: Apache-2.0
// Full fine-tuning from a file to a model file, on a tiny chat model.
#include <nlohmann/json.hpp>

#include "hanzo/io/sha256.hpp"
#include "hanzo/train/plan.hpp"
#include "tests/catch.hpp"
#include "tests/train/chat_bench.hpp"

using namespace hz;
using namespace hz::test;
using namespace hz::train;
namespace fs = std::filesystem;

namespace {

struct Bench : ChatBench {
  using ChatBench::ChatBench;
  SftOptions options(const std::string& out) const {
    SftOptions o = run_options(out);
    o.full = true;
    o.train.lr = 2e-3;
    return o;
  }
  std::string model(const std::string& out) const { return bytes_of(path(out) / "model.gguf"); }
};

}  // namespace

TEST_CASE("a full run ends with a model that answers as it was trained, F32, F16 and BF16", "[train][full]") {
  for (const WType type : {WType::f32, WType::f16, WType::bf16}) {
    INFO(name_of(type));
    const Bench bench(type);
    SftOptions o = bench.options("out");
    o.eval_split = 0.2;
    o.train.keep_best = true;
    const SftResult r = sft(o);
    CHECK(r.train.last_loss < 0.8 * r.train.first_loss);
    CHECK(r.file == bench.path("out/model.gguf"));
    CHECK(r.sha256 == io::Sha256().update(bench.model("out")).hex());
    const auto run = nlohmann::json::parse(bytes_of(bench.path("out/run.json")));
    CHECK(run["config"]["method"] == "full");
    CHECK_FALSE(run["config"].contains("rank"));
    CHECK(run["result"]["model_sha256"] == r.sha256);
    CHECK_FALSE(fs::exists(bench.path("out/adapter_model.safetensors")));

    const Model trained = Model::load(bench.path("out/model.gguf"));
    const SftData data = load_sft_data(o, TextSide::from_gguf(trained.file().metadata()));
    SftObjective served(trained, {});
    CHECK(Trainer::evaluate(served, data.eval, o.rows.max_tokens) == *r.train.best_eval);  // to the bit
    CHECK(trained.file().tensors().size() == Model::load(bench.path("m.gguf")).file().tensors().size());
  }
}

TEST_CASE("full runs give the same bytes on any threads, and however often they are stopped", "[train][full]") {
  for (const WType type : {WType::f32, WType::f16}) {
    INFO(name_of(type));
    const Bench bench(type);
    sft(bench.options("whole"));
    SftOptions o = bench.options("threads");
    o.load.threads = 3;
    o.train.recompute = false;
    sft(o);
    CHECK(bench.model("whole") == bench.model("threads"));
    o.out = bench.path("seed");
    o.train.seed = 6;
    sft(o);
    CHECK(bench.model("whole") != bench.model("seed"));
    int runs = 0;
    for (bool ended = false; !ended; ++runs) {
      REQUIRE(runs < 30);
      o = bench.options("parts");
      o.resume = true;
      o.load.threads = 1 + runs % 2;
      std::stop_source stop;
      SftReport report;
      report.progress.stop = stop.get_token();
      int steps = 0;
      report.step = [&](const Progressed&) {
        if (++steps == 2) stop.request_stop();
      };
      ended = !sft(o, report).train.interrupted;
    }
    CHECK(runs > 1);
    CHECK(bench.model("whole") == bench.model("parts"));
    o = bench.options("parts");
    o.resume = true;
    CHECK(sft(o).finished_before);
  }
}

TEST_CASE("a quantized base is refused with what to do, and leaves nothing behind", "[train][full]") {
  const Bench bench(WType::q4_0);
  for (const bool plan : {false, true}) {
    std::string said;
    try {
      if (plan) plan_sft(bench.options("out"));
      else sft(bench.options("out"));
    } catch (const Error& e) {
      said = std::string(e.what()) + " | " + e.hint();
    }
    CHECK(said.find("is Q4_0, and quantized weights cannot be trained") != std::string::npos);
    CHECK(said.find("--method lora") != std::string::npos);
    CHECK_FALSE(fs::exists(bench.path("out")));
  }
}

TEST_CASE("a plan of a full run counts every parameter, its moments and its master", "[train][full]") {
  const Bench bench(WType::f16);
  const TrainPlan p = plan_sft(bench.options("none"));
  std::int64_t weights = 0;
  const Model model = Model::load(bench.path("m.gguf"));
  for (const io::GgufTensor& t : model.file().tensors()) weights += t.shape.numel();
  CHECK(p.parameters == weights);
  CHECK(p.steps == 6);
  CHECK(p.disk > 6u * static_cast<std::uint64_t>(weights) * 4);  // two checkpoints of master and two moments
}
