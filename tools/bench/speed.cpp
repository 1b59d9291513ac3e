// SPDX-License-Identifier: Apache-2.0
#include "tools/bench/speed.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <hanzo/hanzo.hpp>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>

#include "tools/bench/machine.hpp"
#include "tools/bench/plot.hpp"
#include "tools/bench/report.hpp"
#include "tools/common/model_options.hpp"
#include "tools/common/run.hpp"

namespace hz::tools {
namespace {

using Clock = std::chrono::steady_clock;
double since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

constexpr std::int64_t kMostTokens = std::int64_t{1} << 24;

struct MeanStd {
  double mean = 0, std = 0;
};
MeanStd mean_std(const std::vector<double>& v) {
  MeanStd r;
  r.mean = std::accumulate(v.begin(), v.end(), 0.0) / static_cast<double>(v.size());
  for (const double x : v) r.std += (x - r.mean) * (x - r.mean);
  r.std = v.size() > 1 ? std::sqrt(r.std / static_cast<double>(v.size() - 1)) : 0.0;
  return r;
}
// The value below which `share` of the sorted values lie, nearest rank.
double quantile(std::vector<double> v, double share) {
  std::sort(v.begin(), v.end());
  const auto rank = static_cast<std::size_t>(std::ceil(share * static_cast<double>(v.size())));
  return v[std::min(v.size() - 1, rank == 0 ? 0 : rank - 1)];
}

void prefill(const Model& model, model::KvSequence& kv, std::span<const std::int32_t> ids, std::int64_t ubatch, LogitRows last,
             const std::stop_token& stop) {
  const auto step = static_cast<std::size_t>(ubatch);
  for (std::size_t at = 0; at < ids.size(); at += step) {
    const SequenceChunk chunk{&kv, ids.subspan(at, std::min(step, ids.size() - at))};
    model.forward({&chunk, 1}, at + step >= ids.size() ? last : LogitRows::none, stop);
  }
}

nlohmann::json record(const Cell& cell, const Model& model, const SpeedArgs& args, const std::vector<Sample>& samples,
                      double load_seconds) {
  std::vector<double> ns, ts, first, tokens;
  const auto count = static_cast<double>(cell.test.prompt + cell.test.generate);
  for (const Sample& s : samples) {
    ns.push_back(1e9 * s.seconds);
    ts.push_back(count / s.seconds);
    first.push_back(1e3 * s.first_token);
    for (const double t : s.token_seconds) tokens.push_back(1e3 * t);
  }
  const MeanStd n = mean_std(ns), t = mean_std(ts);
  std::int64_t weights = 0;
  for (const io::GgufTensor& x : model.file().tensors()) weights += x.shape.numel();
  nlohmann::json r{{"build_commit", build_info().commit},
                   {"build_number", 0},
                   {"cpu_info", cpu_name()},
                   {"gpu_info", ""},
                   {"backends", model.backend().name()},
                   {"model_filename", cell.model},
                   {"model_type", std::string(model.arch().name) + " " + model.hparams().name},
                   {"model_size", model.file().total_bytes()},
                   {"model_n_params", weights},
                   {"n_batch", cell.ubatch},
                   {"n_ubatch", cell.ubatch},
                   {"n_threads", cell.threads},
                   {"type_k", cell.kv},
                   {"type_v", cell.kv},
                   {"use_mmap", !args.no_mmap},
                   {"pack", args.pack},
                   {"activations", args.activations},
                   {"n_prompt", cell.test.prompt},
                   {"n_gen", cell.test.generate},
                   {"n_depth", cell.depth},
                   {"test_time", utc_time()},
                   {"avg_ns", std::llround(n.mean)},
                   {"stddev_ns", std::llround(n.std)},
                   {"avg_ts", t.mean},
                   {"stddev_ts", t.std},
                   {"samples_ns", ns},
                   {"samples_ts", ts},
                   {"ttft_ms", quantile(first, 0.5)},
                   {"load_seconds", load_seconds},
                   {"peak_memory", peak_memory()},
                   {"bytes_per_token", token_bytes(model)},
                   {"macs_per_token", token_macs(model)}};
  if (!tokens.empty()) {
    r["token_ms_p50"] = quantile(tokens, 0.5);
    r["token_ms_p95"] = quantile(tokens, 0.95);
  }
  return r;
}

// The machine's limits beside the results. After all tests: the measure of the memory takes memory of its own, which would
// count as a later test's.
void add_limits(nlohmann::json& records, const SpeedArgs& args) {
  const char* isa = std::getenv("HANZO_ISA");
  const BackendPeaks core = make_backend(args.device, {.threads = 1, .isa = isa != nullptr ? isa : ""})->measure_peaks();
  trim_host_arena();
  std::map<int, double> bandwidths;  // by threads
  for (auto& r : records) {
    const int threads = r["n_threads"].get<int>();
    const auto [known, fresh] = bandwidths.try_emplace(threads, 0.0);
    if (fresh) known->second = read_bandwidth(threads);
    r["read_bandwidth"] = known->second;
    r["fma_peak"] = core.fma;
    r["int8_peak"] = core.int8_dot;
    const double ts = r["avg_ts"].get<double>();
    if (r["n_prompt"] == 0) r["bandwidth_share"] = r["bytes_per_token"].get<double>() * ts / known->second;
    if (r["n_gen"] == 0 && core.int8_dot > 0) r["int8_peak_share"] = r["macs_per_token"].get<double>() * ts / (core.int8_dot * threads);
  }
}

// Of 33 fixed ids: equal for every row of one model, KV kind and activations, or something is wrong.
std::string check_hash(const Model& model, const Cell& cell) {
  return logits_hash(model, random_ids(33, model.hparams().vocab), cell.ubatch);
}

void print(const nlohmann::json& records, const std::string& format, const std::function<void(std::string_view)>& to) {
  to(format_records(records, format));
}

}  // namespace

std::vector<std::int32_t> random_ids(std::int64_t n, std::int64_t vocab, std::uint64_t stream) {
  std::vector<std::int32_t> ids;
  for (std::int64_t i = 0; i < n; ++i)
    ids.push_back(static_cast<std::int32_t>(philox(1, stream, static_cast<std::uint64_t>(i))[0] % static_cast<std::uint64_t>(vocab)));
  return ids;
}

SpeedArgs::SpeedArgs(CLI::App& app) {
  app.add_option("-m,--model", models, "GGUF file; may be given several times")->allow_extra_args(false);
  app.add_option("-p,--n-prompt", prompts, "prompt tokens, a list; 0: no prompt test")->capture_default_str();
  app.add_option("-n,--n-gen", generations, "generated tokens, a list; 0: no generation test")->capture_default_str();
  app.add_option("--pg,--n-pg", pairs, "prompt and generated tokens measured as one: 512,128")->allow_extra_args(false);
  app.add_option("-d,--n-depth", depths, "tokens already in the context, a list")->capture_default_str();
  app.add_option("-t,--threads", threads, "threads, a list; 0: the physical cores that the process may use")->capture_default_str();
  app.add_option("--ub,--ubatch,--ubatch-size", ubatches, "prompt tokens evaluated at a time, a list")->capture_default_str();
  app.add_option("--kv", kvs, "element types of the KV cache, a list of f16|f32|q8_0")->capture_default_str();
  add_choice(app, "--activations", activations, {"int8", "f32"}, "how products with quantized weights read their input");
  app.add_option("--device", device, "backend")->capture_default_str();
  add_pack(app, pack);
  app.add_flag("--no-mmap", no_mmap, "read the file into memory instead of mapping it");
  app.add_option("-r,--repetitions", repetitions, "measured runs of each test")->check(CLI::Range(1, 10000))->capture_default_str();
  app.add_flag("--no-warmup", no_warmup, "no unmeasured run first");
  add_choice(app, "-o,--output", output, {"md", "csv", "json", "jsonl", "sql"}, "format of the results");
  app.add_option("--oe,--output-err", second_output, "a second format, on stderr")
      ->check(CLI::IsMember({"md", "csv", "json", "jsonl", "sql"}))
      ->type_name("");
  app.add_flag("--check", check, "a column with the hash of the logits of fixed ids: the same for every row");
  app.add_option("--plot", plot, "draw speed against depth (or prompt length) into this SVG file");
  app.add_option("--ab", ab, "path of a llama-bench to measure in turn with us; needs -f");
  app.add_option("-f,--file", text, "text on which both must have the same perplexity within 1 % before --ab measures");
}

std::vector<Cell> cells_of(const SpeedArgs& args) {
  if (args.models.empty()) throw Error(ErrorKind::usage, "no model given", "", "name a GGUF file with -m");
  std::vector<PromptGen> tests;
  for (const auto p : parse_grid("-p", args.prompts, 0, kMostTokens))
    if (p > 0) tests.push_back({p, 0});
  for (const auto n : parse_grid("-n", args.generations, 0, kMostTokens))
    if (n > 0) tests.push_back({0, n});
  for (const PromptGen& pair : parse_pairs("--pg", args.pairs)) tests.push_back(pair);
  if (tests.empty()) throw Error(ErrorKind::usage, "nothing to measure: -p and -n are 0", "", "give -p TOKENS or -n TOKENS");
  std::vector<Cell> cells;
  for (const std::string& model : args.models)
    for (const std::string& kv : parse_words("--kv", args.kvs, {"f16", "f32", "q8_0"}))
      for (const auto threads : parse_grid("-t", args.threads, 0, 4096))
        for (const auto ubatch : parse_grid("--ub", args.ubatches, 1, std::int64_t{1} << 20))
          for (const auto depth : parse_grid("-d", args.depths, 0, kMostTokens))
            for (const PromptGen& test : tests)
              cells.push_back({model, kv, threads > 0 ? threads : default_threads(), ubatch, depth, test});
  return cells;
}

std::string test_name(const Cell& cell) {
  std::string s = cell.test.prompt > 0 ? fmt::format("pp{}", cell.test.prompt) : "";
  if (cell.test.generate > 0) s += fmt::format("{}tg{}", s.empty() ? "" : "+", cell.test.generate);
  return cell.depth > 0 ? s + fmt::format(" @ d{}", cell.depth) : s;
}

CellRunner::CellRunner(const Model& model, const Cell& cell)
    : model_(model),
      cell_(cell),
      ids_(random_ids(cell.depth + cell.test.prompt + cell.test.generate, model.hparams().vocab)),
      kv_(model.new_sequence()) {}

Sample CellRunner::run(std::stop_token stop) {
  const auto depth = static_cast<std::size_t>(cell_.depth), prompt = static_cast<std::size_t>(cell_.test.prompt);
  if (kv_.length() < cell_.depth) prefill(model_, kv_, std::span(ids_).first(depth), cell_.ubatch, LogitRows::none, stop);
  Sample s;
  const auto begin = Clock::now();
  if (prompt > 0) prefill(model_, kv_, std::span(ids_).subspan(depth, prompt), cell_.ubatch, LogitRows::last, stop);
  s.first_token = since(begin);
  for (std::size_t i = depth + prompt; i < ids_.size(); ++i) {
    const auto token = Clock::now();
    const SequenceChunk chunk{&kv_, std::span(ids_).subspan(i, 1)};
    model_.forward({&chunk, 1}, LogitRows::last, stop);
    s.token_seconds.push_back(since(token));
  }
  if (prompt == 0) s.first_token = s.token_seconds.front();
  s.seconds = since(begin);
  kv_.truncate(cell_.depth);
  return s;
}

const Model& ModelCache::get(const Cell& cell) {
  const std::string key = fmt::format("{}|{}|{}", cell.model, cell.kv, cell.threads);
  if (key != key_) {
    model_.clear();
    trim_host_arena();
    ModelArgs m;
    m.file = cell.model;
    m.device = args_.device;
    m.threads = static_cast<int>(cell.threads);
    m.kv = cell.kv;
    m.activations = args_.activations;
    m.pack = args_.pack;
    m.no_mmap = args_.no_mmap;
    m.context = context_;
    const LoadOptions options = load_options(m, console_);
    const auto begin = Clock::now();
    model_.push_back(Model::load(cell.model, options));
    load_seconds_ = since(begin);
    key_ = key;
  }
  return model_.front();
}

std::int64_t context_of(const std::vector<Cell>& cells) {
  std::int64_t context = 64;
  for (const Cell& c : cells) context = std::max(context, c.depth + c.test.prompt + c.test.generate);
  return context;
}

int run_speed(const SpeedArgs& args, Console& console) {
  const std::vector<Cell> cells = cells_of(args);
  ModelCache models(args, console, context_of(cells));
  const Progress progress = console.progress();
  nlohmann::json records = nlohmann::json::array();
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const Cell& cell = cells[i];
    const Model& model = models.get(cell);
    CellRunner runner(model, cell);
    std::vector<Sample> samples;
    for (int r = args.no_warmup ? 0 : -1; r < args.repetitions; ++r) {
      progress.check("measuring");
      progress("measuring " + test_name(cell), i * static_cast<std::size_t>(args.repetitions) + static_cast<std::size_t>(std::max(0, r)),
               cells.size() * static_cast<std::size_t>(args.repetitions));
      const Sample s = runner.run(progress.stop);
      if (r >= 0) samples.push_back(s);
    }
    records.push_back(record(cell, model, args, samples, models.load_seconds()));
    if (args.check) records.back()["logits_hash"] = check_hash(model, cell);
  }
  progress("measuring", cells.size(), cells.size());
  add_limits(records, args);
  print(records, args.output, [&](std::string_view s) { console.print(s); });
  console.flush();
  if (!args.second_output.empty())
    print(records, args.second_output, [](std::string_view s) { std::fwrite(s.data(), 1, s.size(), stderr); });  // asked for: not a note
  if (!args.plot.empty()) write_speed_plot(records, args.plot);
  return kOk;
}

}  // namespace hz::tools
