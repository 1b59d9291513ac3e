// SPDX-License-Identifier: Apache-2.0
#include "tools/hz-quantize-files.hpp"

#include <fmt/format.h>

#include <CLI/App.hpp>
#include <charconv>
#include <hanzo/engine/generator.hpp>
#include <hanzo/engine/importance.hpp>
#include <hanzo/io/atomic_file.hpp>
#include <hanzo/io/gguf_split.hpp>
#include <hanzo/model/convert.hpp>
#include <hanzo/model/importance.hpp>
#include <hanzo/model/recipe.hpp>
#include <map>
#include <nlohmann/json.hpp>

#include "tools/common/meter.hpp"
#include "tools/common/prompt.hpp"
#include "tools/common/run.hpp"
#include "tools/hz-quantize-main.hpp"

namespace hz::tools {
namespace {

using nlohmann::json;

// "2G", "500M", "1000000".
std::uint64_t bytes_of(const std::string& text) {
  std::uint64_t n = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
  const std::string_view unit(end, static_cast<std::size_t>(text.data() + text.size() - end));
  const std::uint64_t factor = unit.empty() ? 1 : unit == "K" || unit == "k" ? 1000 : unit == "M" ? 1000000 : unit == "G" ? 1000000000 : 0;
  if (error != std::errc() || factor == 0 || n == 0 || n > UINT64_MAX / factor)
    throw Error(ErrorKind::usage, fmt::format("'{}' is no size", text), "--max-size", "a number, with K, M or G");
  return n * factor;
}

}  // namespace

ImatrixArgs::ImatrixArgs(CLI::App& app) : model(app) {
  app.add_option("-f,--file", texts, "text to evaluate; may be repeated")->type_name("PATH");
  add_path(app, "-o,--output", out, "file to write")->required();
  app.add_option("--window", window, "tokens of a window; each is evaluated from an empty context")
      ->check(CLI::Range(std::int64_t{8}, std::int64_t{1} << 20))
      ->capture_default_str();
  app.add_option("--chunks", chunks, "windows of each text to evaluate; -1: all")
      ->check(CLI::Range(std::int64_t{-1}, std::int64_t{1} << 40))
      ->type_name("INT");
  app.add_option("--in-file", merge, "importance matrix of the same model to add; may be repeated, also without a text")
      ->type_name("PATH");
  app.add_flag("--json", json, "one JSON object on stdout");
}

int run_imatrix(ImatrixArgs args, Console& console) {
  if (args.texts.empty() && args.merge.empty())
    throw Error(ErrorKind::usage, "no text given", "", "name one with -f, or matrices to merge with --in-file");
  if (args.chunks == 0) throw Error(ErrorKind::usage, "--chunks 0 evaluates nothing", "", "a number from 1 on, or -1 for all");
  std::vector<std::filesystem::path> inputs(args.texts.begin(), args.texts.end());
  inputs.emplace_back(args.model.file);
  io::refuse_input(args.out, inputs);
  io::check_writable(args.out);
  model::Importance all;
  for (const std::string& name : args.merge) all.add(model::Importance::read(name));
  if (!args.texts.empty()) {
    args.model.context = std::max(args.model.context, args.window);
    const Model model = load_model(args.model, console);
    io::refuse_input(args.out, model.file().files());
    const Generator gen(model, {.pre = args.model.pre});
    for (const std::string& name : args.texts) {
      const auto ids = tokens_of_text(gen.tokenizer(), read_text_file(name, console), console.stop_token());
      ImportanceOptions o{.window = args.window, .most_windows = args.chunks, .progress = console.progress()};
      if (gen.tokenizer().add_bos() && gen.tokenizer().bos()) o.bos = *gen.tokenizer().bos();
      model::Importance one = collect_importance(model, ids, o);
      one.datasets = {std::filesystem::path(name).filename().string()};
      all.add(one);
    }
  }
  all.write(args.out, console.progress());
  std::size_t bare = 0;  // experts that no token reached
  for (const auto& [name, e] : all.entries())
    for (const float c : e.counts) bare += c == 0;
  if (bare > 0) console.warn(fmt::format("{} experts were never chosen; a longer text would reach more", bare));
  if (args.json)
    console.json({{"file", args.out},
                  {"tensors", all.entries().size()},
                  {"chunks", all.chunk_count},
                  {"chunk_size", all.chunk_size},
                  {"experts_without_data", bare}});
  else
    console.print(
        fmt::format("{}: {} tensors from {} windows of {} tokens\n", args.out, all.entries().size(), all.chunk_count, all.chunk_size));
  return kOk;
}

ConvertArgs::ConvertArgs(CLI::App& app) : encode(app) {
  add_path(app, "DIR", folder, "folder with config.json, safetensors, tokenizer.json")->required();
  add_path(app, "OUT", out, "GGUF file to write")->required();
  app.add_option("TYPE", type, "recipe or weight type; without one the matrices keep their element type")->type_name("TYPE");
  app.add_flag("--json", json, "one JSON object on stdout");
}
int run_convert(const ConvertArgs& args, Console& console) {
  model::ConvertSummary s;
  json quantized;
  if (args.type.empty()) {
    if (const std::string flag = args.encode.given(); !flag.empty())
      throw Error(ErrorKind::usage, "matrices keep their element type where no TYPE is given", flag,
                  "hz-quantize convert DIR OUT Q4_K_M");
    s = model::convert_folder(args.folder, args.out, console.progress());
  } else {
    model::Importance importance;
    model::QuantizeFileOptions o = args.encode.options(recipe_named(args.type), importance);
    o.requantize = true;
    const auto summary = model::convert_and_quantize(args.folder, args.out, o, s, console.progress());
    warn_about(summary, console);
    if (args.json) quantized = summary_json(summary);
    else print_summary(summary, console);
  }
  for (const std::string& name : s.ignored) console.detail(fmt::format("left out: {}", name));
  if (s.tokenizer.empty()) console.warn("the folder has no tokenizer.json: the model takes token ids only");
  const std::uint64_t bytes = std::filesystem::file_size(args.out);
  if (args.json)
    console.json({{"file", args.out}, {"architecture", s.family}, {"tensors", s.tensors}, {"tokenizer", s.tokenizer}, {"bytes", bytes},
                  {"ignored", s.ignored}, {"quantized", quantized}});
  else
    console.print(fmt::format("{}: {}, {} tensors, {}, tokenizer {}\n", args.out, s.family, s.tensors,
                              bytes_text(static_cast<double>(bytes)), s.tokenizer.empty() ? "none" : s.tokenizer));
  return kOk;
}

MergeArgs::MergeArgs(CLI::App& app) {
  add_path(app, "FIRST", first, "first part of a split set")->required();
  add_path(app, "OUT", out, "GGUF file to write")->required();
  app.add_flag("--json", json, "one JSON object on stdout");
}
int run_merge(const MergeArgs& args, Console& console) {
  io::merge_gguf(args.first, args.out, console.progress());
  if (args.json) console.json({{"file", args.out}, {"bytes", std::filesystem::file_size(args.out)}});
  else console.note(fmt::format("wrote {}", args.out));
  return kOk;
}

SplitArgs::SplitArgs(CLI::App& app) {
  add_path(app, "IN", in, "GGUF file to split")->required();
  add_path(app, "STEM", stem, "name of the parts without -00001-of-0000N.gguf")->required();
  app.add_option("--max-size", max_size, "largest part, such as 2G");
  app.add_option("--max-tensors", max_tensors, "most tensors of a part");
  app.add_flag("--metadata-first", metadata_first, "the first part holds no tensors");
  app.add_flag("--json", json, "one JSON object on stdout");
}
int run_split(const SplitArgs& args, Console& console) {
  if (args.max_size.empty() && args.max_tensors == 0)
    throw Error(ErrorKind::usage, "no limit of a part given", "", "--max-size 2G or --max-tensors 100");
  io::SplitOptions o{.max_tensors = args.max_tensors, .metadata_first = args.metadata_first};
  if (!args.max_size.empty()) o.max_bytes = bytes_of(args.max_size);
  json files = json::array();
  for (const auto& f : io::split_gguf(args.in, args.stem, o, console.progress())) {
    files.push_back(f.string());
    if (!args.json) console.print(f.string() + "\n");
  }
  if (args.json) console.json({{"files", files}});
  return kOk;
}

InfoArgs::InfoArgs(CLI::App& app) {
  add_path(app, "FILE", file, "GGUF file")->required();
  app.add_flag("--json", json, "one JSON object on stdout");
}
int run_info(const InfoArgs& args, Console& console) {
  const io::Gguf file = io::Gguf::open(args.file);
  struct Sum {
    std::size_t tensors = 0;
    std::int64_t weights = 0;
    std::uint64_t bytes = 0;
  };
  std::map<std::string, Sum> types;
  Sum all;
  for (const io::GgufTensor& t : file.tensors())
    for (Sum* s : {&types[std::string(t.type_name())], &all}) {
      ++s->tensors;
      s->weights += t.shape.numel();
      s->bytes += t.nbytes;
    }
  const auto bits = [](const Sum& s) { return s.weights > 0 ? 8.0 * static_cast<double>(s.bytes) / static_cast<double>(s.weights) : 0.0; };
  const auto arch = file.metadata().get_or<std::string>("general.architecture", "");
  if (args.json) {
    json list = json::array();
    for (const auto& [name, s] : types)
      list.push_back({{"type", name}, {"tensors", s.tensors}, {"weights", s.weights}, {"bytes", s.bytes}, {"bits_per_weight", bits(s)}});
    console.json({{"architecture", arch},
                  {"files", file.files().size()},
                  {"bytes", file.total_bytes()},
                  {"types", list},
                  {"weights", all.weights},
                  {"bits_per_weight", bits(all)}});
    return kOk;
  }
  console.print(fmt::format("{}, {} in {} file{}\n", arch.empty() ? "no architecture" : printable(arch),
                            bytes_text(static_cast<double>(file.total_bytes())), file.files().size(), file.files().size() == 1 ? "" : "s"));
  for (const auto& [name, s] : types)
    console.print(fmt::format("  {:<8} {:>5} tensors {:>12} {:>6.2f} bits per weight\n", name, s.tensors,
                              bytes_text(static_cast<double>(s.bytes)), bits(s)));
  console.print(fmt::format("{} weights, {:.2f} bits per weight\n", all.weights, bits(all)));
  return kOk;
}

int list_types(bool as_json, Console& console) {
  json list = json::array();
  if (!as_json) console.print(fmt::format("{:<8} {:>6}  {}\n", "name", "bits", "most tensors"));
  for (const model::Recipe& r : model::recipes()) {
    const quant::FormatInfo& f = quant::info(r.base);
    list.push_back({{"name", r.name}, {"base", f.name}, {"bits", f.bits()}, {"needs_importance", r.needs_importance}});
    if (!as_json)
      console.print(fmt::format("{:<8} {:>6.2f}  {}{}\n", r.name, f.bits(), f.name, r.needs_importance ? ", needs --imatrix" : ""));
  }
  if (as_json) console.json({{"types", list}});
  return kOk;
}

}  // namespace hz::tools
