// SPDX-License-Identifier: Apache-2.0
#include "tools/hz-bench-speed.hpp"

#include <fmt/format.h>
#include <sys/resource.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <ctime>
#include <fstream>
#include <functional>
#include <hanzo/hanzo.hpp>
#include <nlohmann/json.hpp>
#include <numeric>

#include "tools/common/meter.hpp"
#include "tools/common/run.hpp"

namespace hz::tools {
namespace {

using Clock = std::chrono::steady_clock;
double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

struct Measured {
  std::int64_t prompt = 0, generate = 0;  // one of them is 0
  std::vector<double> ns;                 // per repetition
  std::int64_t tokens() const { return prompt + generate; }
};
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
std::vector<double> rates(const Measured& m) {
  std::vector<double> r;
  for (const double ns : m.ns) r.push_back(1e9 * static_cast<double>(m.tokens()) / ns);
  return r;
}

// Facts about the run that stand in every record.
struct Facts {
  std::string model, cpu, date;
  double load_seconds = 0, read_bandwidth = 0;  // bytes per second
  std::int64_t weights = 0;
  std::uint64_t bytes = 0, token_bytes = 0;     // of the file; read for one decoded token
  std::uint64_t peak_memory = 0;
};

std::string cpu_name() {
  std::ifstream in("/proc/cpuinfo");
  for (std::string line; std::getline(in, line);)
    if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
  return "unknown";
}
std::string iso_time() {
  const std::time_t t = std::time(nullptr);
  char text[32];
  std::tm utc{};
  ::gmtime_r(&t, &utc);
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc);
  return text;
}
std::uint64_t peak_memory() {
  rusage u{};
  ::getrusage(RUSAGE_SELF, &u);
  return static_cast<std::uint64_t>(u.ru_maxrss) * 1024;
}

// Bytes per second that all threads together read from memory: sums over 256 MiB, the best of five.
double read_bandwidth(int threads) {
  const std::size_t n = (std::size_t{256} << 20) / sizeof(std::uint64_t);
  const Tensor block = Tensor::zeros({static_cast<std::int64_t>(n)}, DType::i64);
  const auto* p = block.data<std::int64_t>();
  double best = 0;
  std::atomic<std::int64_t> sink{0};
  for (int i = 0; i < 5; ++i) {
    const auto begin = Clock::now();
    parallel(threads, [&](int thread, int count) {
      const std::size_t a = n * static_cast<std::size_t>(thread) / static_cast<std::size_t>(count), b = n * static_cast<std::size_t>(thread + 1) / static_cast<std::size_t>(count);
      std::int64_t s[8] = {};
      for (std::size_t k = a; k + 8 <= b; k += 8)
        for (std::size_t j = 0; j < 8; ++j) s[j] += p[k + j];
      sink += std::accumulate(s, s + 8, std::int64_t{0});
    });
    best = std::max(best, static_cast<double>(n * sizeof(std::uint64_t)) / seconds_since(begin));
  }
  return best;
}

// Weight bytes that one decoded token reads: every tensor but embedding rows that are only looked up.
std::uint64_t token_bytes(const Model& model) {
  std::uint64_t bytes = 0;
  const bool tied = model.file().find("output.weight") == nullptr;
  for (const io::GgufTensor& t : model.file().tensors()) {
    if (t.name == "token_embd.weight" && !tied) continue;
    const bool expert = t.shape.rank() == 3 && model.hparams().experts > 0;
    bytes += expert ? t.nbytes * static_cast<std::uint64_t>(model.hparams().experts_used) / static_cast<std::uint64_t>(model.hparams().experts) : t.nbytes;
  }
  return bytes;
}

std::vector<std::int32_t> random_ids(std::int64_t n, std::int64_t vocab) {
  std::vector<std::int32_t> ids;
  for (std::int64_t i = 0; i < n; ++i) ids.push_back(static_cast<std::int32_t>(philox(1, 0, static_cast<std::uint64_t>(i))[0] % static_cast<std::uint64_t>(vocab)));
  return ids;
}

void prefill(const Model& model, model::KvSequence& kv, std::span<const std::int32_t> ids, std::int64_t ubatch, LogitRows last) {
  const auto step = static_cast<std::size_t>(ubatch);
  for (std::size_t at = 0; at < ids.size(); at += step) {
    const SequenceChunk chunk{&kv, ids.subspan(at, std::min(step, ids.size() - at))};
    model.forward({&chunk, 1}, at + step >= ids.size() ? last : LogitRows::none);
  }
}

Measured measure(const Model& model, const ModelArgs& margs, const SpeedArgs& args, std::int64_t prompt, std::int64_t generate, const Progress& progress) {
  Measured m{prompt, generate, {}};
  const auto ids = random_ids(args.depth + std::max(prompt, generate), model.hparams().vocab);
  const auto depth = static_cast<std::size_t>(args.depth);
  auto kv = model.new_sequence();
  if (depth > 0) prefill(model, kv, std::span(ids).first(depth), margs.ubatch, LogitRows::none);
  for (int r = args.no_warmup ? 0 : -1; r < args.repetitions; ++r) {
    progress.check("measuring");
    const std::string stage = prompt > 0 ? "prompt" : "generation";
    progress(stage, static_cast<std::uint64_t>(std::max(0, r)), static_cast<std::uint64_t>(args.repetitions));
    const auto begin = Clock::now();
    if (prompt > 0) {
      prefill(model, kv, std::span(ids).subspan(depth, static_cast<std::size_t>(prompt)), margs.ubatch, LogitRows::last);
    } else {
      for (std::size_t i = 0; i < static_cast<std::size_t>(generate); ++i) {
        const SequenceChunk chunk{&kv, std::span(ids).subspan(depth + i, 1)};
        model.forward({&chunk, 1});
      }
    }
    if (r >= 0) m.ns.push_back(1e9 * seconds_since(begin));
    kv.truncate(args.depth);
  }
  return m;
}

nlohmann::json record(const Model& model, const ModelArgs& margs, const SpeedArgs& args, const Facts& f, const Measured& m) {
  const MeanStd ns = mean_std(m.ns), ts = mean_std(rates(m));
  nlohmann::json r{
      {"build_commit", build_info().commit}, {"build_number", 0}, {"cpu_info", f.cpu}, {"gpu_info", ""}, {"backends", model.backend().name()},
      {"model_filename", f.model}, {"model_type", std::string(model.arch().name) + " " + model.hparams().name}, {"model_size", f.bytes}, {"model_n_params", f.weights},
      {"n_batch", margs.ubatch}, {"n_ubatch", margs.ubatch}, {"n_threads", margs.threads > 0 ? margs.threads : default_threads()}, {"type_k", margs.kv}, {"type_v", margs.kv},
      {"use_mmap", !margs.no_mmap}, {"n_prompt", m.prompt}, {"n_gen", m.generate}, {"n_depth", args.depth}, {"test_time", f.date}, {"avg_ns", std::llround(ns.mean)},
      {"stddev_ns", std::llround(ns.std)}, {"avg_ts", ts.mean}, {"stddev_ts", ts.std}, {"samples_ns", m.ns}, {"samples_ts", rates(m)},
      {"load_seconds", f.load_seconds}, {"peak_memory", f.peak_memory}, {"bytes_per_token", f.token_bytes}, {"read_bandwidth", f.read_bandwidth}};
  if (m.generate > 0) r["bandwidth_share"] = static_cast<double>(f.token_bytes) * ts.mean / f.read_bandwidth;
  return r;
}

std::string test_name(const nlohmann::json& r) {
  std::string s = r["n_prompt"].get<std::int64_t>() > 0 ? fmt::format("pp{}", r["n_prompt"].get<std::int64_t>()) : fmt::format("tg{}", r["n_gen"].get<std::int64_t>());
  if (r["n_depth"].get<std::int64_t>() > 0) s += fmt::format(" @ d{}", r["n_depth"].get<std::int64_t>());
  return s;
}

void print_markdown(const nlohmann::json& records, Console& console) {
  console.print("| model | size | params | backend | threads | test | t/s |\n| --- | ---: | ---: | --- | ---: | --- | ---: |\n");
  for (const auto& r : records)
    console.print(fmt::format("| {} | {} | {:.2f} M | {} | {} | {} | {:.2f} ± {:.2f} |\n", r["model_type"].get<std::string>(), bytes_text(r["model_size"].get<double>()),
                              r["model_n_params"].get<double>() / 1e6, r["backends"].get<std::string>(), r["n_threads"].get<int>(), test_name(r), r["avg_ts"].get<double>(), r["stddev_ts"].get<double>()));
  for (const auto& r : records)
    if (r.contains("bandwidth_share"))
      console.print(fmt::format("\nload {:.2f} s, peak memory {}, {} of weights per token, memory reads {}/s: generation uses {:.0f} % of it\n", r["load_seconds"].get<double>(),
                                bytes_text(r["peak_memory"].get<double>()), bytes_text(r["bytes_per_token"].get<double>()), bytes_text(r["read_bandwidth"].get<double>()), 100 * r["bandwidth_share"].get<double>()));
}

void print_csv(const nlohmann::json& records, Console& console) {
  std::string head, rows;
  for (const auto& r : records) {
    head.clear();
    for (const auto& [key, value] : r.items()) {
      if (value.is_array()) continue;
      head += (head.empty() ? "" : ",") + key;
      std::string text = value.is_string() ? value.get<std::string>() : value.dump();
      for (std::size_t at = 0; (at = text.find('"', at)) != std::string::npos; at += 2) text.insert(at, "\"");
      rows += (rows.empty() || rows.back() == '\n' ? "\"" : ",\"") + text + "\"";
    }
    rows += "\n";
  }
  console.print(head + "\n" + rows);
}

}  // namespace

SpeedArgs::SpeedArgs(CLI::App& app) {
  app.add_option("-p,--n-prompt", prompt, "prompt tokens; 0: no prompt test")->check(CLI::Range(std::int64_t{0}, std::int64_t{1} << 24))->capture_default_str();
  app.add_option("-n,--n-gen", generate, "generated tokens; 0: no generation test")->check(CLI::Range(std::int64_t{0}, std::int64_t{1} << 24))->capture_default_str();
  app.add_option("-d,--n-depth", depth, "tokens already in the context")->check(CLI::Range(std::int64_t{0}, std::int64_t{1} << 24))->capture_default_str();
  app.add_option("-r,--repetitions", repetitions, "measured runs of each test")->check(CLI::Range(1, 10000))->capture_default_str();
  app.add_flag("--no-warmup", no_warmup, "no unmeasured run first");
  add_choice(app, "-o,--output", output, {"md", "csv", "json"}, "format of the results");
}

int run_speed(const ModelArgs& margs, const SpeedArgs& args, Console& console) {
  ModelArgs sized = margs;
  sized.context = std::max(margs.context, args.depth + std::max(args.prompt, args.generate));
  const auto begin = Clock::now();
  const Model model = load_model(sized, console);
  Facts f;
  f.load_seconds = seconds_since(begin);
  f.model = margs.file;
  f.cpu = cpu_name();
  f.date = iso_time();
  f.bytes = model.file().total_bytes();
  f.token_bytes = token_bytes(model);
  for (const io::GgufTensor& t : model.file().tensors()) f.weights += t.shape.numel();
  const Progress progress = console.progress();
  std::vector<Measured> measured;
  if (args.prompt > 0) measured.push_back(measure(model, margs, args, args.prompt, 0, progress));
  if (args.generate > 0) measured.push_back(measure(model, margs, args, 0, args.generate, progress));
  f.peak_memory = peak_memory();
  trim_host_arena();
  f.read_bandwidth = read_bandwidth(margs.threads > 0 ? margs.threads : default_threads());  // after the peak: it needs memory of its own
  nlohmann::json records = nlohmann::json::array();
  for (const Measured& m : measured) records.push_back(record(model, margs, args, f, m));
  if (args.output == "json") console.print(records.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
  else if (args.output == "csv") print_csv(records, console);
  else print_markdown(records, console);
  console.flush();
  return kOk;
}

}  // namespace hz::tools
