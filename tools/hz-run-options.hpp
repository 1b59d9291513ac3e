// SPDX-License-Identifier: Apache-2.0
// hz-run's command line, and what it asks for once everything but the model was read.
#pragma once
#include <hanzo/hanzo.hpp>
#include <memory>
#include <optional>
#include <string>

#include "tools/common/cli.hpp"
#include "tools/common/generate_options.hpp"
#include "tools/common/model_options.hpp"
#include "tools/common/prompt.hpp"
#include "tools/common/template_options.hpp"

namespace hz::tools {

struct RunArgs {
  ModelArgs model;
  LoraArgs adapters;
  PromptArgs prompt;
  GenerateArgs generate;
  TemplateArgs chat_template;
  std::string logits_out, save_state, load_state;
  bool chat = false, raw = false, json = false, info = false, tokens = false, hash = false, list_devices = false;

  explicit RunArgs(CLI::App& app);
  bool only_inspects() const { return tokens || hash || !logits_out.empty(); }
};

// What is asked, read before the model is: a mistake costs nobody a load.
struct Request {
  std::vector<std::int32_t> ids;    // --ids
  std::optional<std::string> text;  // the prompt
  bool chat = false;                // a conversation, not one answer
  GenerateOptions generate;
  GeneratorOptions generator;
};
Request read_request(const RunArgs& args, Console& console);

// One answer on stdout; the exit code.
int run_once(const RunArgs& args, const Request& request, Generator& generator, Console& console);
// A conversation on the terminal or over pipes; the exit code.
int run_chat(const RunArgs& args, const Request& request, Generator& generator, Console& console);

// The answer as one line of JSON.
void print_json(const Generation& generation, const Generator& generator, Console& console);
// "prompt 12 tokens, …; seed …; finish: …"
std::string summary(const Generation& generation);

}  // namespace hz::tools
