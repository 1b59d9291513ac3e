// SPDX-License-Identifier: Apache-2.0
#include "tools/common/template_options.hpp"

#include <CLI/App.hpp>
#include <algorithm>
#include <nlohmann/json.hpp>

#include "tools/common/prompt.hpp"
#include "tools/common/run.hpp"

namespace hz::tools {

TemplateArgs::TemplateArgs(CLI::App& app) {
  const std::string group = "Conversation";
  system_given = app.add_option("--system", system, "system message")->group(group);
  file_given = add_path(app, "--template", file, "file with a chat template (Jinja), in place of the model's")->group(group);
  variables_given =
      app.add_option("--template-arg", variables, "KEY=JSON: a variable of the template, repeatable; e.g. enable_thinking=false")
          ->group(group);
  add_path(app, "--tokenizer", tokenizer_file, "tokenizer.json of Hugging Face, or its folder, in place of the model's tokenizer")
      ->group(group);
}

std::shared_ptr<const text::ChatTemplate> TemplateArgs::chat_template(const Console& console) const {
  if (file.empty()) return nullptr;
  return std::make_shared<const text::ChatTemplate>(text::ChatTemplate::parse(read_text_file(file, console, kMostDefinition), file));
}

std::shared_ptr<const text::Tokenizer> TemplateArgs::tokenizer() const {
  return tokenizer_file.empty() ? nullptr : text::Tokenizer::from_hf(tokenizer_file);
}

std::string TemplateArgs::variables_json() const {
  if (variables.empty()) return {};
  nlohmann::ordered_json all = nlohmann::ordered_json::object();
  for (const std::string& v : variables) {
    const std::size_t equals = v.find('=');
    const std::string key = v.substr(0, equals);
    const auto is_name = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_'; };
    if (equals == std::string::npos || key.empty() || !std::all_of(key.begin(), key.end(), is_name) || (key[0] >= '0' && key[0] <= '9'))
      throw Error(ErrorKind::usage, "--template-arg: '" + v + "' is no KEY=JSON", "", "write e.g. enable_thinking=false");
    for (const char* ours : {"messages", "tools", "documents", "add_generation_prompt"})
      if (key == ours) throw Error(ErrorKind::usage, "--template-arg: '" + key + "' is given by the conversation itself");
    nlohmann::ordered_json value =
        nlohmann::ordered_json::parse(v.begin() + static_cast<std::ptrdiff_t>(equals) + 1, v.end(), nullptr, false);
    if (value.is_discarded())
      throw Error(ErrorKind::usage, "--template-arg " + key + ": '" + v.substr(equals + 1) + "' is no JSON", "",
                  "a string needs its quotes: '" + key + "=\"text\"'");
    all[key] = std::move(value);
  }
  return all.dump();
}

}  // namespace hz::tools
