// SPDX-License-Identifier: Apache-2.0
// hz-sample: a tool that does nothing but behave; tests/tools/behaviour.py drives it.
#include <CLI/App.hpp>
#include <chrono>
#include <hanzo/io/atomic_file.hpp>
#include <hanzo/io/gguf.hpp>
#include <memory>
#include <new>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <thread>

#include "tools/common/run.hpp"

namespace {

struct Args {
  std::string what = "say", kind = "failed", model, out, text = "data";
  int count = 1;
  int threads = 1;
};

void fail(const std::string& kind) {
  using hz::ErrorKind;
  if (kind == "memory") throw std::bad_alloc();
  if (kind == "other") throw std::runtime_error("something else");
  const std::pair<const char*, ErrorKind> kinds[] = {{"usage", ErrorKind::usage},
                                                     {"bad_file", ErrorKind::bad_file},
                                                     {"out_of_memory", ErrorKind::out_of_memory},
                                                     {"io", ErrorKind::io},
                                                     {"failed", ErrorKind::failed},
                                                     {"numeric", ErrorKind::numeric},
                                                     {"unsupported", ErrorKind::unsupported},
                                                     {"cancelled", ErrorKind::cancelled}};
  for (const auto& [name, value] : kinds)
    if (kind == name) throw hz::Error(value, "what \x1b[31mhappened", "model.gguf", "another file");
}

// `count` steps of 50 ms that report progress and obey a stop request.
void work(const Args& args, hz::tools::Console& console) {
  const hz::Progress progress = console.progress();
  const auto total = static_cast<std::uint64_t>(args.count);
  for (std::uint64_t i = 0; i < total; ++i) {
    progress("work", i, total);
    progress.check("work");
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  progress("work", total, total);
}

int act(const Args& args, hz::tools::Console& console) {
  if (args.what == "say")
    for (int i = 0; i < args.count; ++i) console.print(args.text + "\n");
  if (args.what == "json") console.json({{"text", args.text}, {"count", args.count}});
  if (args.what == "fail") {
    console.print("before\n");
    fail(args.kind);
  }
  if (args.what == "work") {
    console.stream("begun\n");
    work(args, console);
    console.stream("done\n");
  }
  if (args.what == "ignore") {  // deaf to stop requests
    console.stream("begun\n");
    std::this_thread::sleep_for(std::chrono::seconds(60));
  }
  if (args.what == "map") {  // reads a mapped model after the test has changed the file
    const hz::io::Gguf file = hz::io::Gguf::open(args.model);
    console.stream("begun\n");
    work(args, console);
    unsigned sum = 0;
    for (const hz::io::GgufTensor& t : file.tensors())
      for (const std::byte b : file.tensor(t.name).bytes()) sum += static_cast<unsigned>(b);
    console.print("sum " + std::to_string(sum) + "\n");
  }
  if (args.what == "save") {
    hz::io::AtomicFile file(args.out);
    file.write("first half\n");
    console.stream("begun\n");
    work(args, console);
    file.commit();
  }
  console.note("a note");
  console.detail("a detail");
  console.warn("a warning");
  return args.what == "check" ? hz::tools::kCheckFailed : hz::tools::kOk;
}

}  // namespace

int main(int argc, char** argv) {
  return hz::tools::run("hz-sample", argc, argv, [](CLI::App& app) {
    app.description("Behaves like a tool.");
    auto args = std::make_shared<Args>();
    hz::tools::add_choice(app, "what", args->what, {"say", "json", "fail", "work", "ignore", "map", "save", "check"}, "what to do");
    app.add_option("--kind", args->kind, "kind of failure");
    app.add_option("--text", args->text, "what to say");
    app.add_option("-m,--model", args->model, "file to map");
    app.add_option("-o,--output", args->out, "file to write");
    app.add_option("-n,--count", args->count, "how often");
    app.add_option("-t,--threads", args->threads, "threads");
    return [args](hz::tools::Console& console) { return act(*args, console); };
  });
}
