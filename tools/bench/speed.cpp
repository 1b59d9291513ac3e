// SPDX-License-Identifier: Apache-2.0
#include "tools/bench/speed.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <hanzo/hanzo.hpp>
#include <map>
#include <nlohmann/json.hpp>
#include <thread>

#include "tools/bench/machine.hpp"
#include "tools/bench/plot.hpp"
#include "tools/bench/report.hpp"
#include "tools/bench/stats.hpp"
#include "tools/common/model_options.hpp"
#include "tools/common/run.hpp"

namespace hz::tools {
namespace {

void prefill(const Model& model, model::KvSequence& kv, std::span<const std::int32_t> ids, std::int64_t ubatch, LogitRows last,
             const std::stop_token& stop) {
  const auto step = static_cast<std::size_t>(ubatch);
  for (std::size_t at = 0; at < ids.size(); at += step) {
    const SequenceChunk chunk{&kv, ids.subspan(at, std::min(step, ids.size() - at))};
    model.forward({&chunk, 1}, at + step >= ids.size() ? last : LogitRows::none, stop);
  }
}

// "Q4_K_M" as the file says, else the format of most weights.
std::string weights_name(const Model& model) {
  if (const auto type = model.file().metadata().get<std::int64_t>("general.file_type"))
    for (const model::Recipe& r : model::recipes())
      if (r.file_type == *type) return std::string(r.name);
  std::map<std::string_view, std::int64_t> weights;
  for (const io::GgufTensor& t : model.file().tensors()) weights[t.type_name()] += t.shape.numel();
  const auto most = std::max_element(weights.begin(), weights.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == weights.end() ? "" : std::string(most->first);
}

// "llama SmolLM2 135M Q4_1": architecture, name, weights, as far as known.
std::string model_type(const Model& model) {
  std::string s(model.arch().name);
  for (const std::string& part : {model.hparams().name, weights_name(model)})
    if (!part.empty()) s += " " + part;
  return s;
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
                   {"model_type", model_type(model)},
                   {"model_size", model.file().total_bytes()},
                   {"model_n_params", weights},
                   {"n_batch", cell.batch},
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
                   {"ttft_ms", median(first)},
                   {"load_seconds", load_seconds},
                   {"peak_memory", peak_memory()},
                   {"bytes_per_token", token_bytes(model)},
                   {"cache_bytes_per_token", cache_bytes(model, cell.depth + cell.test.prompt, cell.test.generate)},
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
    if (core.int8_dot > 0) {
      r["fma_peak"] = core.fma;
      r["int8_peak"] = core.int8_dot;
    }
    const double ts = r["avg_ts"].get<double>();
    if (r["n_prompt"] == 0)
      r["bandwidth_share"] = (r["bytes_per_token"].get<double>() + r["cache_bytes_per_token"].get<double>()) * ts / known->second;
    if (r["n_gen"] == 0 && core.int8_dot > 0) r["int8_peak_share"] = r["macs_per_token"].get<double>() * ts / (core.int8_dot * threads);
  }
}

// Of 33 fixed ids: equal for every row of one model, KV kind and activations, or something is wrong.
std::string check_hash(const Model& model, const Cell& cell) {
  return logits_hash(model, random_ids(33, model.hparams().vocab), cell.step());
}

}  // namespace

std::vector<std::int32_t> random_ids(std::int64_t n, std::int64_t vocab, std::uint64_t stream) {
  std::vector<std::int32_t> ids;
  for (std::int64_t i = 0; i < n; ++i)
    ids.push_back(static_cast<std::int32_t>(philox(1, stream, static_cast<std::uint64_t>(i))[0] % static_cast<std::uint64_t>(vocab)));
  return ids;
}

std::string test_name(const Cell& cell) { return test_name(cell.test.prompt, cell.test.generate, cell.depth); }

CellRunner::CellRunner(const Model& model, const Cell& cell)
    : model_(model),
      cell_(cell),
      ids_(random_ids(cell.depth + cell.test.prompt + cell.test.generate, model.hparams().vocab)),
      kv_(model.new_sequence()) {}

void CellRunner::fill(const Progress& progress) {
  for (std::int64_t at = kv_.length(); at < cell_.depth; at = kv_.length()) {
    progress("filling the context", static_cast<std::uint64_t>(at), static_cast<std::uint64_t>(cell_.depth));
    const std::int64_t n = std::min(cell_.step(), cell_.depth - at);
    const auto ids = std::span(ids_).subspan(static_cast<std::size_t>(at), static_cast<std::size_t>(n));
    prefill(model_, kv_, ids, n, LogitRows::none, progress.stop);
  }
}

Sample CellRunner::run(std::stop_token stop) {
  const auto depth = static_cast<std::size_t>(cell_.depth), prompt = static_cast<std::size_t>(cell_.test.prompt);
  fill({.report = {}, .stop = stop});
  Sample s;
  const auto begin = Clock::now();
  if (prompt > 0) prefill(model_, kv_, std::span(ids_).subspan(depth, prompt), cell_.step(), LogitRows::last, stop);
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
    try {
      model_.push_back(Model::load(cell.model, options));
    } catch (const Error& e) {
      if (e.kind() != ErrorKind::out_of_memory) throw;
      throw Error(e.kind(), e.what(), e.where(), "measure at a smaller depth (-d), with fewer tokens (-p, -n) or a smaller model");
    }
    load_seconds_ = since(begin);
    warn_about_context(context_, model_.front(), console_);
    key_ = key;
  }
  return model_.front();
}

std::int64_t context_of(const std::vector<Cell>& cells) {
  std::int64_t context = 64;
  for (const Cell& c : cells) context = std::max(context, c.depth + c.test.prompt + c.test.generate);
  return context;
}

namespace {

// Rest between tests, so that a machine that got hot starts each alike.
void rest(double seconds, const Progress& progress) {
  for (const auto begin = Clock::now(); since(begin) < seconds;) {
    progress.check("resting");
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

}  // namespace

int run_speed(const SpeedArgs& args, Console& console) {
  args.report.check();
  const std::vector<Cell> cells = cells_of(args);
  ModelCache models(args, console, context_of(cells));
  const Progress progress = console.progress();
  nlohmann::json records = nlohmann::json::array();
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const Cell& cell = cells[i];
    const Model& model = models.get(cell);
    CellRunner runner(model, cell);
    std::vector<Sample> samples;
    rest(args.delay, progress);
    runner.fill(progress);
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
  print_records(records, args.report, speed_layout(records), console);
  if (!args.report.plot.empty()) write_speed_plot(records, args.report.plot);
  return kOk;
}

}  // namespace hz::tools
