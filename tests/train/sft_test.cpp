// SPDX-License-Identifier: Apache-2.0
// Supervised fine-tuning from a file to an adapter, on a tiny chat model.
#include "hanzo/train/sft.hpp"

#include <algorithm>
#include <fstream>
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
  explicit Bench(WType type = WType::q4_0) : ChatBench(type) {}
  SftOptions options(const std::string& out) const {
    SftOptions o = run_options(out);
    o.adapter.rank = 4;
    o.adapter.alpha = 8;
    o.adapter.dropout = 0.1f;
    o.train.lr = 1e-2;
    o.train.checkpoint_every = 1;
    o.load.threads = 1;
    return o;
  }
  std::string adapter(const std::string& out) const {
    return bytes_of(path(out + "/adapter_model.safetensors")) + bytes_of(path(out + "/adapter_config.json"));
  }
};

std::string refusal(const SftOptions& o) {
  try {
    sft(o);
  } catch (const Error& e) {
    return std::string(e.what()) + " | " + e.hint();
  }
  return "accepted";
}
bool says(const std::string& message, const std::string& part) {
  if (message.find(part) != std::string::npos) return true;
  WARN("got: " << message);
  return false;
}

std::vector<float> logits_of(const Model& model, std::span<const std::int32_t> ids) {
  const NoGrad off;
  const Tensor y = model.forward(ids);
  return {y.span<const float>().begin(), y.span<const float>().end()};
}

}  // namespace

TEST_CASE_METHOD(Bench, "a run ends with an adapter, its account, metrics and a picture; the base is untouched", "[train][sft]") {
  const std::string before = io::Sha256().update(bytes_of(path("m.gguf"))).hex();
  SftOptions o = options("out");
  o.eval_split = 0.2;
  const SftResult r = sft(o);
  CHECK(r.train.last_loss < 0.7 * r.train.first_loss);
  REQUIRE(r.train.last_eval);
  CHECK(*r.train.last_eval < *r.train.first_eval);
  for (const char* name : {"adapter_model.safetensors", "adapter_config.json", "run.json", "metrics.jsonl", "loss.svg",
                           "events.out.tfevents.0000000000.hanzo", "checkpoints"})
    CHECK(fs::exists(path("out") / name));
  const auto run = nlohmann::json::parse(bytes_of(path("out/run.json")));
  CHECK(run["finished"] == true);
  CHECK(run["config"]["rank"] == 4);
  CHECK(run["data"]["rows"] == 12);
  CHECK(run["result"]["adapter_sha256"] == io::Sha256().update(bytes_of(path("out/adapter_model.safetensors"))).hex());
  CHECK(io::Sha256().update(bytes_of(path("m.gguf"))).hex() == before);
  const Model base = Model::load(path("m.gguf"));
  CHECK(run["base"]["sha256"] == base.base_sha256());
  const Model with = base.with_adapter(Adapter::load(path("out"), base));
  const std::vector<std::int32_t> ids{5, 6, 7, 8};
  CHECK(logits_of(with, ids) != logits_of(base, ids));
}

TEST_CASE_METHOD(Bench, "the same options give the same bytes, on any threads; another seed gives others", "[train][sft]") {
  sft(options("a"));
  SftOptions o = options("b");
  o.load.threads = 3;
  o.train.recompute = false;
  o.train.checkpoint_every = 2;
  o.train.keep = 5;
  sft(o);
  CHECK(adapter("a") == adapter("b"));
  o = options("c");
  o.train.seed = 6;
  sft(o);
  CHECK(bytes_of(path("a/adapter_model.safetensors")) != bytes_of(path("c/adapter_model.safetensors")));
}

TEST_CASE_METHOD(Bench, "a run that is stopped after each micro-batch or two ends in the same bytes, with dropout", "[train][sft]") {
  sft(options("whole"));
  for (const int every : {2, 3}) {
    const std::string out = "parts" + std::to_string(every);
    int runs = 0;
    for (bool ended = false; !ended; ++runs) {
      SftOptions o = options(out);
      o.resume = true;
      o.load.threads = 1 + runs % 2;
      std::stop_source stop;
      SftReport report;
      report.progress.stop = stop.get_token();
      int steps = 0;
      report.step = [&](const Progressed&) {
        if (++steps == every) stop.request_stop();
      };
      ended = !sft(o, report).train.interrupted;
      REQUIRE(runs < 30);
    }
    CHECK(runs > 1);
    CHECK(adapter("whole") == adapter(out));
  }
}

TEST_CASE_METHOD(Bench, "folders: not empty is refused, a finished run is left alone, another option is named", "[train][sft]") {
  sft(options("out"));
  CHECK(says(refusal(options("out")), "not empty"));
  SftOptions o = options("out");
  o.resume = true;
  CHECK(sft(o).finished_before);
  o.train.lr = 2e-2;
  CHECK(says(refusal(o), "--lr is 0.02, the run began with 0.01"));
  o = options("out");
  o.resume = true;
  o.load.threads = 2;
  o.train.checkpoint_every = 7;
  o.train.keep = 1;
  CHECK(sft(o).finished_before);
  fs::create_directory(path("other"));
  put_text(path("other/x"), "");
  o.out = path("other");
  CHECK(says(refusal(o), "no run.json"));
  fs::create_directory(path("killed"));  // before anything was written
  put_text(path("killed/.hanzo-1-0.tmp"), "half");
  o.out = path("killed");
  CHECK_FALSE(sft(o).finished_before);

  o = options("late");
  std::stop_source stop;
  SftReport report;
  report.progress.stop = stop.get_token();
  report.step = [&](const Progressed&) {
    o.resume = true;
    CHECK(says(refusal(o), "another process trains in this folder"));
    stop.request_stop();
  };
  sft(options("late"), report);
  put_text(path("d.jsonl"), talk("other", "data"));
  o.resume = true;
  CHECK(says(refusal(o), "the data is not what the run began with"));
}

TEST_CASE_METHOD(Bench, "options that cannot be meant are refused before anything is made", "[train][sft]") {
  SftOptions o = options("none");
  o.eval = path("d.jsonl");
  o.eval_split = 0.1;
  CHECK(says(refusal(o), "exclude each other"));
  o = options("none");
  o.train.keep_best = true;
  CHECK(says(refusal(o), "need an evaluation"));
  CHECK_FALSE(fs::exists(path("none")));
}

TEST_CASE_METHOD(Bench, "packed documents do not see each other: logits and losses are those of each alone, to the bit", "[train][sft]") {
  const Model model = Model::load(path("m.gguf"), {.context = 64});
  std::vector<Example> docs(3);
  for (std::size_t d = 0; d < 3; ++d)
    for (std::size_t i = 0; i < std::array<std::size_t, 3>{5, 7, 3}[d]; ++i) {
      docs[d].ids.push_back(static_cast<std::int32_t>(10 + 17 * d + 3 * i));
      docs[d].labels.push_back(i == 0 ? kIgnore : docs[d].ids.back());
    }
  std::vector<model::KvSequence> kv(3, model.new_sequence());
  const std::vector<SequenceChunk> chunks{{&kv[0], docs[0].ids}, {&kv[1], docs[1].ids}, {&kv[2], docs[2].ids}};
  const Tensor together = model.forward(chunks, LogitRows::all);
  std::int64_t row = 0;
  for (const Example& e : docs) {
    const auto n = static_cast<std::int64_t>(e.ids.size());
    const Tensor alone = model.forward(e.ids);
    CHECK(std::equal(alone.span<float>().begin(), alone.span<float>().end(), together.data<float>() + row * together.cols()));
    row += n;
  }
  // The same tokens packed and apart: the same gradient up to the order of the sum.
  sft(options("apart"));
  SftOptions o = options("packed");
  o.train.packing = true;
  o.train.micro_batch = 1;
  o.train.accumulate = 1;
  o.train.steps = 2;
  CHECK(sft(o).train.steps == 2);
}

TEST_CASE_METHOD(Bench, "every target gets a gradient in the first step", "[train][sft]") {
  Model model = Model::load(path("m.gguf"), {.context = 64});
  const Adapter adapter = nn::attach_lora(model, {.rank = 2}, Seed{1});
  SftObjective objective(model, adapter.parameters());
  Example e;
  e.ids = {0, 20, 30, 40, 50};
  e.labels = {kIgnore, kIgnore, 30, 40, 50};
  const Example* doc = &e;
  Tape tape;
  const GradStore grads = tape.backward(objective.loss({&doc, 1}, {}));
  for (const Adapter::Target& t : adapter.targets()) {
    INFO(t.module);
    REQUIRE(grads.contains(t.lora.b));  // A's is zero while B is
    const Tensor g = grads[t.lora.b];
    CHECK(std::any_of(g.span<float>().begin(), g.span<float>().end(), [](float v) { return v != 0; }));
  }
}

TEST_CASE_METHOD(Bench, "rows of 3 and 300 tokens: one micro-batch of two equals two of one, in loss and gradients", "[train][sft]") {
  Model model = Model::load(path("m.gguf"), {.context = 512});
  const Adapter adapter = nn::attach_lora(model, {.rank = 2}, Seed{1});
  SftObjective objective(model, adapter.parameters());
  std::vector<Example> docs(2);
  for (std::size_t d = 0; d < 2; ++d)
    for (std::int32_t i = 0; i < (d == 0 ? 4 : 301); ++i) {
      docs[d].ids.push_back(4 + (i * 7) % 250);
      docs[d].labels.push_back(i == 0 ? kIgnore : docs[d].ids.back());
    }
  const auto gradients = [&](std::vector<std::vector<const Example*>> micros) {
    GradTree tree(adapter.parameters());
    double loss = 0;
    for (const auto& m : micros) {
      Tape tape;
      const Tensor l = objective.loss(m, {});
      tree.add(tape.backward(l));
      loss += static_cast<double>(l.item());
    }
    return std::pair(loss / 303, tree.finish());
  };
  const auto one = gradients({{&docs[0], &docs[1]}}), two = gradients({{&docs[0]}, {&docs[1]}});
  CHECK(one.first == Approx(two.first).epsilon(1e-6));
  for (std::size_t i = 0; i < one.second.size(); ++i) {
    REQUIRE(one.second[i].defined() == two.second[i].defined());
    if (!one.second[i].defined()) continue;
    double largest = 1e-6, difference = 0;
    for (std::int64_t j = 0; j < one.second[i].numel(); ++j) {
      largest = std::max(largest, std::fabs(static_cast<double>(one.second[i].data<float>()[j])));
      difference = std::max(
          difference, std::fabs(static_cast<double>(one.second[i].data<float>()[j]) - static_cast<double>(two.second[i].data<float>()[j])));
    }
    CHECK(difference <= 2e-6 * largest);
  }
}

TEST_CASE_METHOD(Bench, "a plan counts steps and parameters and measures time and memory", "[train][sft]") {
  SftOptions o = options("none");
  o.eval_split = 0.2;
  const TrainPlan p = plan_sft(o);
  CHECK(p.steps == 3 * 2);  // nine rows of twelve, six a step
  CHECK(p.rows == 9);
  CHECK(p.eval_rows == 3);
  CHECK(p.parameters > 0);
  CHECK(p.seconds > 0);
  CHECK(p.memory > 1'000'000);
  CHECK_FALSE(fs::exists(path("none")));
}

TEST_CASE_METHOD(Bench, "what is refused leaves no trace: the same folder serves the next attempt", "[train][sft]") {
  SftOptions o = options("out");
  o.adapter.targets = "attn_zzz";
  CHECK(says(refusal(o), "selects no layer"));
  CHECK_FALSE(fs::exists(path("out")));
  o = options("out");
  o.adapter.targets = "lm_head";  // the head is the embedding
  CHECK(says(refusal(o), "the model's head is its embedding"));
  o = options("out");
  o.adapter.rank_pattern = {{"attn_zzz", 3}};
  CHECK(says(refusal(o), "the rank pattern 'attn_zzz' selects none"));
  o = options("out");
  o.data = path("missing.jsonl");
  CHECK(refusal(o) != "accepted");
  o.data = path("m.gguf");
  CHECK(refusal(o) != "accepted");
  o = options("out");
  o.model = path("d.jsonl");
  CHECK(refusal(o) != "accepted");
  o = options("out");
  o.rows.max_tokens = 2;
  CHECK(says(refusal(o), "none of 12 rows can be used"));
  CHECK_FALSE(fs::exists(path("out")));
  fs::create_directory(path("out"));  // a folder of the user's stays
  CHECK(refusal(o) != "accepted");
  CHECK(fs::is_empty(path("out")));
  CHECK(refusal(options("out")) == "accepted");
}

TEST_CASE_METHOD(Bench, "numbers out of their range, NaN and infinity are refused by name", "[train][sft]") {
  const double nan = std::nan(""), inf = HUGE_VAL;
  using Set = void (*)(SftOptions&, double);
  const std::pair<const char*, Set> numbers[] = {{"--lr", [](SftOptions& o, double v) { o.train.lr = v; }},
                                                 {"--weight-decay", [](SftOptions& o, double v) { o.train.weight_decay = v; }},
                                                 {"--lora-plus", [](SftOptions& o, double v) { o.train.lora_plus = v; }},
                                                 {"--beta1", [](SftOptions& o, double v) { o.train.beta1 = v; }},
                                                 {"--beta2", [](SftOptions& o, double v) { o.train.beta2 = v; }},
                                                 {"--eps", [](SftOptions& o, double v) { o.train.eps = v; }},
                                                 {"--clip", [](SftOptions& o, double v) { o.train.clip = v; }},
                                                 {"--warmup", [](SftOptions& o, double v) { o.train.warmup = v; }},
                                                 {"--min-lr-ratio", [](SftOptions& o, double v) { o.train.min_lr_ratio = v; }},
                                                 {"--eval-split", [](SftOptions& o, double v) { o.eval_split = v; }},
                                                 {"--alpha", [](SftOptions& o, double v) { o.adapter.alpha = static_cast<float>(v); }},
                                                 {"--dropout", [](SftOptions& o, double v) { o.adapter.dropout = static_cast<float>(v); }}};
  for (const auto& [name, set] : numbers)
    for (const double v : {nan, inf, -inf, -1e30, 1e39}) {
      SftOptions o = options("none");
      set(o, v);
      CHECK(says(refusal(o), std::string(name) + " is "));
    }
  CHECK_FALSE(fs::exists(path("none")));
}

TEST_CASE_METHOD(Bench, "a run that diverges says so and writes no adapter", "[train][sft]") {
  SftOptions o = options("out");
  o.train.lr = 1000;
  o.train.warmup = 0;
  o.train.schedule = optim::ScheduleKind::constant;
  o.train.clip = 0;
  o.adapter.alpha = 1e6f;
  CHECK(says(refusal(o), "the training has diverged after step"));
  CHECK_FALSE(fs::exists(path("out/adapter_model.safetensors")));
}

TEST_CASE_METHOD(Bench, "rows of unequal length: what is trained is what has a label, whatever token pads", "[train][sft]") {
  std::vector<double> losses;
  for (const std::uint32_t pad : {1u, 2u, 40u}) {
    const auto file = path("pad" + std::to_string(pad) + ".gguf");
    write_tiny_chat(file, 1, hz::test::kChatMl, {.type = WType::q4_0, .tied = true}, false, pad);
    put_text(path("two.jsonl"), talk("a", "b") + talk("hello hello hello", "world world world world"));
    SftOptions o = options("out" + std::to_string(pad));
    o.model = file;
    o.data = path("two.jsonl");
    o.train.micro_batch = 2;
    o.train.steps = 1;
    o.load.threads = 1;
    losses.push_back(sft(o).train.first_loss);
    const auto run = nlohmann::json::parse(bytes_of(path("out" + std::to_string(pad)) / "run.json"));
    const auto metrics = nlohmann::json::parse(bytes_of(path("out" + std::to_string(pad)) / "metrics.jsonl"));
    CHECK(metrics["trained_tokens"] == run["data"]["trained_tokens"]);
  }
  CHECK(losses[0] == losses[1]);
  CHECK(losses[0] == losses[2]);
}
