// SPDX-License-Identifier: Apache-2.0
// hz-quantize: smaller models: weight formats and mixes, importance matrices, conversion, split files.
#include <fmt/format.h>

#include <CLI/App.hpp>
#include <set>

#include "tools/common/run.hpp"
#include "tools/hz-quantize-files.hpp"
#include "tools/hz-quantize-main.hpp"

namespace {

// What only quantizing takes is not for another command, though the parser hands it on.
void refuse_strays(const CLI::App& app, const CLI::App& command) {
  static const std::set<std::string> kShared{"--help", "--quiet", "--verbose", "--color", "--version", "--json"};
  for (const CLI::Option* o : app.get_options())
    if (o->count() > 0 && !kShared.contains(o->get_name()))
      throw hz::Error(hz::ErrorKind::usage,
                      o->get_positional() ? fmt::format("'{}' is one argument too many", o->results().front())
                                          : fmt::format("{} has no {}", command.get_name(), o->get_name()),
                      "", fmt::format("hz-quantize {} --help", command.get_name()));
}

}  // namespace

int main(int argc, char** argv) {
  using namespace hz::tools;
  return run("hz-quantize", argc, argv, [](CLI::App& app) -> Action {
    app.description("Writes a model in a smaller weight format: hz-quantize IN.gguf OUT.gguf Q4_K_M");
    auto args = std::make_shared<QuantizeArgs>(app);
    app.fallthrough();  // -q and the like also after a command
    CLI::App* imatrix = add_command(app, "imatrix", "importance matrix of a model on a text");
    CLI::App* convert = add_command(app, "convert", "make a GGUF file of a Hugging Face folder");
    CLI::App* merge = add_command(app, "merge", "make one file of a split set");
    CLI::App* split = add_command(app, "split", "make parts of a file");
    CLI::App* info = add_command(app, "info", "types and sizes of a file");
    CLI::App* types = add_command(app, "types", "the types that can be asked for");
    auto imatrix_args = std::make_shared<ImatrixArgs>(*imatrix);
    auto convert_args = std::make_shared<ConvertArgs>(*convert);
    auto merge_args = std::make_shared<MergeArgs>(*merge);
    auto split_args = std::make_shared<SplitArgs>(*split);
    auto info_args = std::make_shared<InfoArgs>(*info);
    auto types_json = std::make_shared<bool>(false);
    types->add_flag("--json", *types_json, "one JSON object on stdout");
    return [=, main_app = &app, commands = app.get_subcommands({})](Console& console) -> int {
      for (const CLI::App* c : commands)
        if (c->parsed()) refuse_strays(*main_app, *c);
      for (bool* json :
           {&imatrix_args->json, &convert_args->json, &merge_args->json, &split_args->json, &info_args->json, types_json.get()})
        *json = *json || args->json;
      if (imatrix->parsed()) return run_imatrix(*imatrix_args, console);
      if (convert->parsed()) return run_convert(*convert_args, console);
      if (merge->parsed()) return run_merge(*merge_args, console);
      if (split->parsed()) return run_split(*split_args, console);
      if (info->parsed()) return run_info(*info_args, console);
      if (types->parsed()) return list_types(*types_json, console);
      return run_quantize(*args, console);
    };
  });
}
