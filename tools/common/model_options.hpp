// SPDX-License-Identifier: Apache-2.0
// The options by which every tool names and loads a model.
#pragma once
#include <hanzo/model/model.hpp>
#include <string>
#include <vector>

#include "tools/common/cli.hpp"
#include "tools/common/console.hpp"

namespace hz::tools {

struct ModelArgs {
  std::string file, device = "cpu", kv = "f16", activations = "int8", pre, pack = "auto";
  std::string isq, isq_save, isq_imatrix;
  std::int64_t context = 0, ubatch = 512;
  int threads = 0;
  bool no_mmap = false;

  ModelArgs() = default;
  explicit ModelArgs(CLI::App& app);
};

// "f16", "f32", "q8_0"
KvKind kv_kind(const std::string& name);
// --pack and its older spelling --no-pack.
void add_pack(CLI::App& app, std::string& pack);
// What Model::load takes. Throws usage when no file is named. Environment: HANZO_ISA forces an instruction set.
LoadOptions load_options(const ModelArgs& args, Console& console);
// Warns of a context that is legal but longer than the model was made for.
void warn_about_context(std::int64_t context, const Model& model, Console& console);
// Adapters that a model is loaded with.
struct LoraArgs {
  std::vector<std::string> lora;  // PATH or PATH=SCALE
  bool force = false;
  LoraArgs() = default;
  explicit LoraArgs(CLI::App& app);
};
// Loads args.file, showing progress.
Model load_model(const ModelArgs& args, Console& console, const LoraArgs& adapters = {});

}  // namespace hz::tools
