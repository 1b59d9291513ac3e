// SPDX-License-Identifier: Apache-2.0
// hz-bench --ab: a llama-bench and we in turn, run by run, once both were shown to compute the same model.
#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <hanzo/hanzo.hpp>
#include <nlohmann/json.hpp>

#include "tools/bench/speed.hpp"
#include "tools/common/prompt.hpp"
#include "tools/common/run.hpp"

extern char** environ;

namespace hz::tools {
namespace {

struct Output {
  std::string out, err;
};

// Runs a program without a shell; what it wrote. Throws Error(failed) when it does not end with 0, cancelled on a stop.
Output run_program(const std::vector<std::string>& words, const std::stop_token& stop) {
  const int out = ::memfd_create("out", MFD_CLOEXEC), err = ::memfd_create("err", MFD_CLOEXEC);
  if (out < 0 || err < 0) throw Error(ErrorKind::io, "cannot make a file in memory: " + std::string(std::strerror(errno)), words[0]);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_adddup2(&actions, out, 1);
  ::posix_spawn_file_actions_adddup2(&actions, err, 2);
  std::vector<char*> argv;
  for (const std::string& w : words) argv.push_back(const_cast<char*>(w.c_str()));
  argv.push_back(nullptr);
  pid_t pid = 0;
  const int failed = ::posix_spawn(&pid, argv[0], &actions, nullptr, argv.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  int status = 0;
  while (failed == 0 && ::waitpid(pid, &status, WNOHANG) == 0) {
    if (stop.stop_requested()) ::kill(pid, SIGTERM);
    ::usleep(2000);
  }
  const auto text = [](int fd) {
    std::string s;
    char buffer[65536];
    ::lseek(fd, 0, SEEK_SET);
    for (ssize_t n; (n = ::read(fd, buffer, sizeof buffer)) > 0;) s.append(buffer, static_cast<std::size_t>(n));
    ::close(fd);
    return s;
  };
  Output o{text(out), text(err)};
  if (stop.stop_requested()) throw Error(ErrorKind::cancelled, "stopped while " + words[0] + " ran");
  if (failed != 0)
    throw Error(ErrorKind::failed, "cannot run the program: " + std::string(std::strerror(failed)), words[0],
                "name a llama-bench that runs here");
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    const std::string tail = o.err.size() > 300 ? o.err.substr(o.err.size() - 300) : o.err;
    throw Error(ErrorKind::failed,
                fmt::format("the program ended with status {}: {}", WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), tail),
                words[0]);
  }
  return o;
}

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
  std::vector<std::string> words{args.ab,
                                 "-m",
                                 cell.model,
                                 "-t",
                                 std::to_string(cell.threads),
                                 "-ub",
                                 std::to_string(cell.ubatch),
                                 "-d",
                                 std::to_string(cell.depth),
                                 "-r",
                                 "1",
                                 "-o",
                                 "json",
                                 "-ctk",
                                 cell.kv,
                                 "-ctv",
                                 cell.kv};
  if (cell.test.prompt > 0 && cell.test.generate > 0)
    words.insert(words.end(), {"-p", "0", "-n", "0", "-pg", fmt::format("{},{}", cell.test.prompt, cell.test.generate)});
  else words.insert(words.end(), {"-p", std::to_string(cell.test.prompt), "-n", std::to_string(cell.test.generate)});
  if (args.no_warmup) words.emplace_back("--no-warmup");
  const Output o = run_program(words, stop);
  const nlohmann::json j = nlohmann::json::parse(o.out, nullptr, false);
  if (!j.is_array() || j.size() != 1 || !j[0].contains("avg_ts") || !j[0]["avg_ts"].is_number())
    throw Error(ErrorKind::failed, "its JSON has no avg_ts of one test", args.ab);
  return j[0]["avg_ts"].get<double>();
}

double median(std::vector<double> v) {
  std::sort(v.begin(), v.end());
  return v.size() % 2 == 1 ? v[v.size() / 2] : 0.5 * (v[v.size() / 2 - 1] + v[v.size() / 2]);
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
    CellRunner runner(model, cell);
    std::vector<double> ours, theirs, ratios;
    for (int r = 0; r < args.repetitions; ++r) {
      if (!args.no_warmup) runner.run(progress.stop);  // each time: the peer, a new process, warms up each time too
      ours.push_back(static_cast<double>(cell.test.prompt + cell.test.generate) / runner.run(progress.stop).seconds);
      theirs.push_back(peer_rate(args, cell, progress.stop));
      ratios.push_back(ours.back() / theirs.back());
    }
    const auto [least, most] = std::minmax_element(ratios.begin(), ratios.end());
    records.push_back({{"model_filename", cell.model},
                       {"n_threads", cell.threads},
                       {"type_k", cell.kv},
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
                       {"samples_peer", theirs}});
  }
  if (args.output == "json") console.print(records.dump(2) + "\n");
  else {
    console.print(
        "| model | threads | test | ours t/s | peer t/s | ratio | least, most |\n| --- | ---: | ---: | ---: | ---: | ---: | ---: |\n");
    for (const auto& r : records)
      console.print(fmt::format("| {} | {} | {} | {:.2f} | {:.2f} | {:.2f} | {:.2f}, {:.2f} |\n",
                                std::filesystem::path(r["model_filename"].get<std::string>()).filename().string(),
                                r["n_threads"].get<int>(), r["test"].get<std::string>(), r["ours_ts"].get<double>(),
                                r["peer_ts"].get<double>(), r["ratio"].get<double>(), r["ratio_min"].get<double>(),
                                r["ratio_max"].get<double>()));
  }
  console.flush();
  return kOk;
}

}  // namespace hz::tools
