// SPDX-License-Identifier: Apache-2.0
// hz-bench --ab: a llama-bench and we in turn, run by run, once both were shown to compute the same model.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <hanzo/hanzo.hpp>
#include <nlohmann/json.hpp>

#include "tools/bench/program.hpp"
#include "tools/bench/report.hpp"
#include "tools/bench/speed.hpp"
#include "tools/bench/stats.hpp"
#include "tools/common/prompt.hpp"
#include "tools/common/run.hpp"

namespace hz::tools {
namespace {

double peer_perplexity(const SpeedArgs& args, const Cell& cell, const std::stop_token& stop) {
  const auto tool = std::filesystem::path(args.ab).parent_path() / "llama-perplexity";
  const Output o = run_program({tool.string(), "-m", cell.model, "-f", args.text, "-c", "512", "-t", std::to_string(cell.threads)}, stop);
  const std::string all = o.out + o.err, key = "Final estimate: PPL = ";
  const std::size_t at = all.find(key);
  if (at == std::string::npos) throw Error(ErrorKind::failed, "no 'Final estimate: PPL' in what it printed", tool.string());
  return std::strtod(all.c_str() + at + key.size(), nullptr);
}

double our_perplexity(const Model& model, const std::string& text, const Progress& progress) {
  const Generator gen(model);
  EvaluateOptions o{.progress = progress};
  if (gen.tokenizer().add_bos() && gen.tokenizer().bos()) o.bos = *gen.tokenizer().bos();
  return perplexity(model, tokens_of_text(gen.tokenizer(), text, progress.stop), o).value;
}

// Both must give the text the same perplexity within 1 %: speed of a wrong result is worth nothing.
void gate(const SpeedArgs& args, const Cell& cell, const Model& model, const std::string& text, const Progress& progress,
          Console& console) {
  const double ours = our_perplexity(model, text, progress), theirs = peer_perplexity(args, cell, progress.stop);
  console.note(fmt::format("{}: perplexity {:.4f}, the peer's {:.4f}", cell.model, ours, theirs));
  if (!(std::fabs(ours - theirs) <= 0.01 * theirs))
    throw Error(ErrorKind::numeric,
                fmt::format("the perplexities {:.4f} (ours) and {:.4f} (the peer's) differ by more than 1 %", ours, theirs), cell.model,
                "nothing was measured");
}

double peer_rate(const SpeedArgs& args, const Cell& cell, const std::stop_token& stop) {
  std::vector<std::string> words{args.ab};
  const auto give = [&](const std::string& flag, const std::string& value) { words.insert(words.end(), {flag, value}); };
  give("-m", cell.model);
  give("-t", std::to_string(cell.threads));
  give("-b", std::to_string(cell.batch));
  give("-ub", std::to_string(cell.ubatch));
  give("-d", std::to_string(cell.depth));
  give("-ctk", cell.kv);
  give("-ctv", cell.kv);
  give("-r", "1");
  give("-o", "json");
  if (cell.test.prompt > 0 && cell.test.generate > 0)
    words.insert(words.end(), {"-p", "0", "-n", "0", "-pg", fmt::format("{},{}", cell.test.prompt, cell.test.generate)});
  else words.insert(words.end(), {"-p", std::to_string(cell.test.prompt), "-n", std::to_string(cell.test.generate)});
  if (args.no_warmup) words.emplace_back("--no-warmup");
  const Output o = run_program(words, stop);
  const nlohmann::json j = nlohmann::json::parse(o.out, nullptr, false);
  if (!j.is_array() || j.size() != 1 || !j[0].contains("avg_ts") || !j[0]["avg_ts"].is_number())
    throw Error(ErrorKind::failed, "its JSON has no avg_ts of one test", args.ab);
  const double rate = j[0]["avg_ts"].get<double>();
  if (!(rate > 0)) throw Error(ErrorKind::failed, fmt::format("it tells a speed of {} tokens/s", rate), args.ab);
  return rate;
}

Layout ab_layout() {
  return {.table = "hz_bench_ab",
          .columns = {{"model", false,
                       [](const nlohmann::json& r) {
                         return std::filesystem::path(r["model_filename"].get<std::string>()).filename().string();
                       }},
                      number_column("threads", "n_threads", 0),
                      {"kv", false, [](const nlohmann::json& r) { return r["type_k"].get<std::string>(); }},
                      {"test", true, [](const nlohmann::json& r) { return test_name(r); }},
                      number_column("ours t/s", "ours_ts", 2),
                      number_column("peer t/s", "peer_ts", 2),
                      number_column("ratio", "ratio", 2),
                      number_column("least", "ratio_min", 2),
                      number_column("most", "ratio_max", 2)},
          .below = ""};
}

// Both in turn, run by run.
nlohmann::json measure(const SpeedArgs& args, const Cell& cell, const Model& model, const Progress& progress) {
  CellRunner runner(model, cell);
  std::vector<double> ours, theirs, ratios;
  for (int r = 0; r < args.repetitions; ++r) {
    progress("measuring " + test_name(cell), static_cast<std::uint64_t>(r), static_cast<std::uint64_t>(args.repetitions));
    if (!args.no_warmup) runner.run(progress.stop);  // each time: the peer, a new process, warms up each time too
    ours.push_back(static_cast<double>(cell.test.prompt + cell.test.generate) / runner.run(progress.stop).seconds);
    theirs.push_back(peer_rate(args, cell, progress.stop));
    ratios.push_back(ours.back() / theirs.back());
  }
  const auto [least, most] = std::minmax_element(ratios.begin(), ratios.end());
  return {{"model_filename", cell.model},
          {"n_threads", cell.threads},
          {"n_batch", cell.batch},
          {"n_ubatch", cell.ubatch},
          {"type_k", cell.kv},
          {"pack", args.pack},
          {"activations", args.activations},
          {"n_prompt", cell.test.prompt},
          {"n_gen", cell.test.generate},
          {"n_depth", cell.depth},
          {"test", test_name(cell)},
          {"ours_ts", median(ours)},
          {"peer_ts", median(theirs)},
          {"ratio", median(ratios)},
          {"ratio_min", *least},
          {"ratio_max", *most},
          {"samples_ours", ours},
          {"samples_peer", theirs}};
}

}  // namespace

int run_ab(const SpeedArgs& args, Console& console) {
  if (args.text.empty())
    throw Error(ErrorKind::usage, "--ab needs a text", "", "give one of some 10 KB with -f: both must have the same perplexity on it");
  const std::string text = read_text_file(args.text, console);
  const std::vector<Cell> cells = cells_of(args);
  ModelCache models(args, console, std::max<std::int64_t>(512, context_of(cells)));
  const Progress progress = console.progress();
  nlohmann::json records = nlohmann::json::array();
  std::string passed;
  for (const Cell& cell : cells) {
    const Model& model = models.get(cell);
    if (passed != cell.model) gate(args, cell, model, text, progress, console);
    passed = cell.model;
    records.push_back(measure(args, cell, model, progress));
  }
  print_records(records, args.report, ab_layout(), console);
  return kOk;
}

}  // namespace hz::tools
