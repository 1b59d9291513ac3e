// SPDX-License-Identifier: Apache-2.0
#include "tools/common/model_options.hpp"

#include <fmt/format.h>

#include <CLI/App.hpp>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <hanzo/core/near_names.hpp>
#include <hanzo/io/atomic_file.hpp>
#include <hanzo/text/tokenizer.hpp>
#include <limits>

#include "tools/common/meter.hpp"
#include "tools/common/run.hpp"

namespace hz::tools {

namespace {

std::string unknown_pre(const std::string& given) {
  const auto names = text::Tokenizer::pre_names();
  if (std::find(names.begin(), names.end(), given) != names.end()) return "";
  std::string near;
  for (const std::string_view n : nearest(given, names, 3)) near += (near.empty() ? "" : ", ") + std::string(n);
  return fmt::format("'{}' is no pre-tokenizer known here; the nearest are {}", given, near);
}

// PATH or PATH=SCALE. A path that exists is taken whole, whatever signs it has.
AdapterFile adapter_of(const std::string& given) {
  std::error_code error;  // a path that cannot be looked at is told of by whoever opens it
  if (std::filesystem::exists(given, error)) return {given, 1};
  const std::size_t at = given.rfind('=');
  if (at == std::string::npos) return {given, 1};
  const std::string scale = given.substr(at + 1);
  char* end = nullptr;
  const float value = std::strtof(scale.c_str(), &end);
  if (scale.empty() || *end != '\0' || !std::isfinite(value))
    throw Error(ErrorKind::usage, fmt::format("'{}' is no scale", scale), "--lora " + given,
                "PATH=SCALE with a finite number, such as adapter/=0.5");
  return {given.substr(0, at), value};
}

}  // namespace

void warn_about_context(std::int64_t context, const Model& model, Console& console) {
  const std::int64_t trained = model.hparams().context;
  if (context > trained)
    console.warn(fmt::format("a context of {} is more than the {} positions that the model was made for: answers get worse beyond",
                             context, trained));
}

KvKind kv_kind(const std::string& name) { return name == "f32" ? KvKind::f32 : name == "q8_0" ? KvKind::q8_0 : KvKind::f16; }

void add_pack(CLI::App& app, std::string& pack) {
  CLI::Option* choice = add_choice(app, "--pack", pack, {"auto", "expanded", "none"},
                                   "weights in panels: auto lets those of IQ1, IQ2 and IQ3, which grow, take a tenth more than the file; "
                                   "expanded packs all of them; none uses the file's bytes");
  app.add_flag_callback("--no-pack", [&pack] { pack = "none"; }, "the same as --pack none")->excludes(choice);
}

ModelArgs::ModelArgs(CLI::App& app) {
  add_path(app, "-m,--model", file, "GGUF file (the first one of a split set)");
  app.add_option("-c,--ctx", context, "context in tokens; 0: the smaller of the model's and 4096")
      ->check(CLI::Range(std::int64_t{0}, std::int64_t{1} << 31));
  app.add_option("-t,--threads", threads, "threads; 0: the physical cores that the process may use")->check(CLI::Range(0, 4096));
  app.add_option("--ub,--ubatch", ubatch, "prompt tokens evaluated at a time")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 20))
      ->capture_default_str();
  add_choice(app, "--kv", kv, {"f16", "f32", "q8_0"}, "element type of the KV cache");
  add_choice(app, "--activations", activations, {"int8", "f32"}, "how products with quantized weights read their input");
  std::vector<std::string> devices;
  for (const BackendInfo& b : list_backends()) devices.push_back(b.name);
  add_choice(app, "--device", device, devices, "backend (--version describes them)");
  app.add_option("--isq", isq, "quantize while loading, to a type that hz-quantize types lists; -m may then name a Hugging Face folder");
  add_path(app, "--isq-save", isq_save, "keep the file that --isq makes")->needs("--isq");
  add_path(app, "--isq-imatrix", isq_imatrix, "importance matrix for --isq")->needs("--isq");
  add_pack(app, pack);
  app.add_flag("--no-mmap", no_mmap,
               "read the file into memory instead of mapping it; takes the size of the weights twice without --pack none");
  app.add_option("--pre", pre, "pre-tokenizer to use in place of the file's (--info shows that)")
      ->check(CLI::Validator(unknown_pre, "NAME", "pre"))
      ->type_name("NAME");
}

LoadOptions load_options(const ModelArgs& args, Console& console) {
  if (args.file.empty()) throw Error(ErrorKind::usage, "no model given", "", "name a GGUF file with -m");
  LoadOptions options;
  options.device = args.device;
  options.threads = args.threads;
  if (const char* isa = std::getenv("HANZO_ISA")) options.isa = isa;
  options.pack = args.pack != "none";
  if (args.pack == "expanded") options.expand = std::numeric_limits<double>::infinity();
  options.kv = kv_kind(args.kv);
  options.activations = args.activations == "f32" ? nn::Activations::f32 : nn::Activations::int8;
  options.context = args.context;
  options.read_mode = args.no_mmap ? io::ReadMode::read : io::ReadMode::map;
  options.isq = args.isq;
  options.isq_save = args.isq_save;
  if (!args.isq_save.empty()) io::check_writable(args.isq_save);
  options.isq_importance = args.isq_imatrix;
  options.progress = console.progress();
  return options;
}

LoraArgs::LoraArgs(CLI::App& app) {
  app.add_option("--lora", lora, "adapter: a PEFT folder, one of ours, or a GGUF LoRA file; may be given more than once")
      ->type_name("PATH[=SCALE]")
      ->expected(1)
      ->allow_extra_args(false)
      ->take_all();
  app.add_flag("--force", force, "accept adapters that were made for another base");
}

Model load_model(const ModelArgs& args, Console& console, const LoraArgs& adapters) {
  LoadOptions options = load_options(args, console);
  for (const std::string& given : adapters.lora) options.adapters.push_back(adapter_of(given));
  options.force_adapters = adapters.force;
  const auto begin = std::chrono::steady_clock::now();
  Model model = Model::load(args.file, options);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  console.note(fmt::format("loaded {} ({}) in {:.2f} s on {}: {}", args.file, bytes_text(static_cast<double>(model.file().total_bytes())),
                           seconds, model.backend().name(), model.backend().description()));
  for (std::size_t i = 0; i < model.adapters().size(); ++i)
    console.note(fmt::format("adapter {} at {:g} times its scale, from {}", model.adapters()[i], options.adapters[i].strength,
                             options.adapters[i].path.string()));
  const model::MemoryPlan& plan = model.memory_plan();
  console.detail(fmt::format("memory: weights {}, context of {} positions {}, temporaries up to {}",
                             bytes_text(static_cast<double>(plan.weights)), plan.context,
                             bytes_text(static_cast<double>(plan.for_context())), bytes_text(static_cast<double>(plan.work))));
  warn_about_context(args.context, model, console);
  return model;
}

}  // namespace hz::tools
