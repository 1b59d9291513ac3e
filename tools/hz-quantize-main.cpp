// SPDX-License-Identifier: Apache-2.0
#include "tools/hz-quantize-main.hpp"

#include <fmt/format.h>

#include <CLI/App.hpp>
#include <nlohmann/json.hpp>

#include "tools/common/meter.hpp"
#include "tools/common/run.hpp"

namespace hz::tools {
namespace {

using nlohmann::json;

std::string size(std::uint64_t bytes) { return bytes_text(static_cast<double>(bytes)); }

WType type_named(const std::string& name, const std::string& flag) {
  const auto type = quant::from_name(name);
  if (type && quant::info(*type).weight) return *type;
  throw Error(ErrorKind::usage, fmt::format("'{}' is no weight type", name), flag,
              fmt::format("near names: {}; all: hz-quantize types", quant::near_names(name)));
}

void print_plan(const model::QuantizePlan& plan, bool as_json, Console& console) {
  const auto fallbacks = plan.fallbacks();
  if (as_json) {
    json tensors = json::array();
    for (const auto& t : plan.tensors)
      tensors.push_back({{"name", t.from->name},
                         {"from", t.from->type_name()},
                         {"to", t.kept ? t.from->type_name() : name_of(t.type)},
                         {"fallback", !t.kept && t.type != t.wanted},
                         {"bytes", t.bytes}});
    return console.json({{"tensors", tensors},
                         {"bytes_in", plan.bytes_in},
                         {"bytes_out", plan.bytes_out},
                         {"bits_per_weight", plan.bits()},
                         {"fallbacks", fallbacks.size()}});
  }
  for (const auto& t : plan.tensors)
    console.print(fmt::format("{:<36} {:>8} -> {:<8} {:>12}{}\n", printable(t.from->name), t.from->type_name(),
                              t.kept ? t.from->type_name() : name_of(t.type), size(t.bytes),
                              !t.kept && t.type != t.wanted ? fmt::format("  in place of {}", name_of(t.wanted)) : ""));
  console.print(fmt::format("{} of tensors become {}, {:.2f} bits per weight, {} fallbacks; nothing was written\n", size(plan.bytes_in),
                            size(plan.bytes_out), plan.bits(), fallbacks.size()));
}

void warn_unused(const std::vector<std::string>& patterns, Console& console) {
  for (const std::string& p : patterns)
    console.warn(fmt::format("--tensor-type {} decides no tensor: none has such a name, or an earlier pattern finds it", printable(p)));
}

}  // namespace

EncodeArgs::EncodeArgs(CLI::App& app) : app_(&app) {
  add_path(app, "--imatrix", imatrix, "importance matrix (hz-quantize imatrix makes one)");
  app.add_option("--tensor-type", tensor_types,
                 "PATTERN=TYPE: the type of tensors whose name the regular expression finds; may be repeated, the first that fits wins")
      ->expected(1)
      ->take_all()
      ->type_name("PATTERN=TYPE");
  app.add_option("--output-type", output_type, "type of output.weight, or of the embedding where it serves as both")->type_name("TYPE");
  app.add_option("--embedding-type", embedding_type, "type of token_embd.weight")->type_name("TYPE");
  app.add_flag("--pure", pure, "one type for all matrices, without the mix of the recipe");
  app.add_flag("--strict", strict, "refuse where rows do not divide into blocks, instead of a fallback type");
  add_choice(app, "--search", search, {"normal", "thorough"}, "thorough: less error at the same size, several times slower");
  app.add_option("-t,--threads", threads, "threads; 0: the physical cores that the process may use")->check(CLI::Range(0, 4096));
}

std::string EncodeArgs::given() const {
  for (const char* name : {"--imatrix", "--tensor-type", "--output-type", "--embedding-type", "--pure", "--strict", "--search"})
    if (app_->get_option(name)->count() > 0) return name;
  return "";
}

model::QuantizeFileOptions EncodeArgs::options(const model::Recipe& recipe, model::Importance& importance) const {
  model::QuantizeFileOptions o;
  o.recipe = &recipe;
  for (const std::string& pair : tensor_types) {
    const std::size_t at = pair.rfind('=');
    if (at == std::string::npos || at == 0)
      throw Error(ErrorKind::usage, fmt::format("'{}' is not PATTERN=TYPE", pair), "--tensor-type", "such as ffn_down=Q6_K");
    o.types.emplace_back(pair.substr(0, at), type_named(pair.substr(at + 1), "--tensor-type"));
  }
  if (app_->get_option("--output-type")->count() > 0) o.output_type = type_named(output_type, "--output-type");
  if (app_->get_option("--embedding-type")->count() > 0) o.embedding_type = type_named(embedding_type, "--embedding-type");
  o.pure = pure;
  o.strict = strict;
  o.search = search == "thorough" ? quant::Search::thorough : quant::Search::normal;
  o.threads = threads;
  if (!imatrix.empty()) {
    importance = model::Importance::read(imatrix);
    o.importance = &importance;
    o.importance_name = std::filesystem::path(imatrix).filename().string();
  }
  return o;
}

QuantizeArgs::QuantizeArgs(CLI::App& app) : encode(app) {
  app.add_option("IN", in, "GGUF file to quantize (the first one of a split set)")->type_name("PATH");
  app.add_option("OUT", out, "GGUF file to write; --dry-run may do without")->type_name("PATH");
  app.add_option("TYPE", type, "recipe or weight type, such as Q4_K_M (hz-quantize types lists them)")->type_name("TYPE");
  app.add_flag("--dry-run", dry_run, "print what would be written, and its size");
  app.add_flag("--keep-split", keep_split, "write as many parts as the input has");
  app.add_flag("--requantize", requantize, "allow an input that is quantized already");
  app.add_flag("--json", json, "one JSON object on stdout");
}

const model::Recipe& recipe_named(const std::string& name) {
  if (const model::Recipe* r = model::find_recipe(name)) return *r;
  throw Error(ErrorKind::usage, fmt::format("'{}' is no type", name), "",
              fmt::format("near names: {}; all: hz-quantize types", model::near_recipes(name)));
}

nlohmann::json summary_json(const model::QuantizeSummary& s) {
  json types = json::array(), files = json::array();
  for (const auto& t : s.types)
    types.push_back({{"type", name_of(t.type)},
                     {"tensors", t.tensors},
                     {"weights", t.weights},
                     {"bytes", t.bytes},
                     {"bits_per_weight", 8.0 * static_cast<double>(t.bytes) / static_cast<double>(t.weights)},
                     {"mean_error", t.mean_error},
                     {"worst_error", t.worst_error},
                     {"worst_tensor", t.worst}});
  for (const auto& f : s.files) files.push_back(f.string());
  return {{"files", files},
          {"types", types},
          {"bytes_in", s.bytes_in},
          {"bytes_out", s.bytes_out},
          {"bits_per_weight", 8.0 * static_cast<double>(s.bytes_out) / static_cast<double>(s.weights)},
          {"fallbacks", s.fallbacks},
          {"without_importance", s.without_importance},
          {"unused_patterns", s.unused_patterns},
          {"seconds", s.seconds}};
}

void print_summary(const model::QuantizeSummary& s, Console& console) {
  console.print(fmt::format("{:<8} {:>7} {:>12} {:>6} {:>11} {:>11}  {}\n", "type", "tensors", "size", "bits", "mean error", "worst error",
                            "worst tensor"));
  for (const auto& t : s.types) {
    console.print(fmt::format("{:<8} {:>7} {:>12} {:>6.2f}", name_of(t.type), t.tensors, size(t.bytes),
                              8.0 * static_cast<double>(t.bytes) / static_cast<double>(t.weights)));
    console.print(t.worst.empty()
                      ? fmt::format(" {:>11} {:>11}  copied\n", "-", "-")
                      : fmt::format(" {:>10.3f}% {:>10.3f}%  {}\n", 100 * t.mean_error, 100 * t.worst_error, printable(t.worst)));
  }
  console.print(fmt::format("{} became {}, {:.2f} bits per weight, in {:.1f} s\n", size(s.bytes_in), size(s.bytes_out),
                            8.0 * static_cast<double>(s.bytes_out) / static_cast<double>(s.weights), s.seconds));
}

void warn_about(const model::QuantizeSummary& s, Console& console) {
  if (s.fallbacks > 0)
    console.warn(fmt::format(
        "{} tensors have rows that their type's blocks do not divide and got a wider type; --dry-run names them, --strict refuses them",
        s.fallbacks));
  if (!s.without_importance.empty())
    console.warn(fmt::format("the importance matrix says nothing about {} tensors, the first is {}", s.without_importance.size(),
                             printable(s.without_importance[0])));
  warn_unused(s.unused_patterns, console);
}

int run_quantize(QuantizeArgs args, Console& console) {
  const bool shifted = args.type.empty() && model::find_recipe(args.out) != nullptr;
  if (shifted && args.dry_run) args.type = std::exchange(args.out, "-");
  if (args.in.empty() || args.out.empty() || args.type.empty())
    throw Error(ErrorKind::usage,
                shifted            ? "the output file is missing"
                : args.in.empty()  ? "no input given"
                : args.out.empty() ? "no output given"
                                   : "no type given",
                "", "hz-quantize IN.gguf OUT.gguf Q4_K_M");
  model::Importance importance;
  model::QuantizeFileOptions o = args.encode.options(recipe_named(args.type), importance);
  o.requantize = args.requantize;
  o.keep_split = args.keep_split;
  if (args.dry_run) {
    const io::Gguf file = io::Gguf::open(args.in);
    const model::QuantizePlan plan = model::plan_quantize(file, o);
    warn_unused(plan.unused_patterns, console);
    print_plan(plan, args.json, console);
    return kOk;
  }
  const model::QuantizeSummary s = model::quantize_file(args.in, args.out, o, console.progress());
  warn_about(s, console);
  if (args.json) console.json(summary_json(s));
  else print_summary(s, console);
  return kOk;
}

}  // namespace hz::tools
