// SPDX-License-Identifier: Apache-2.0
// The options about what stands between text and model: chat template and tokenizer.
#pragma once
#include <hanzo/text/chat_template.hpp>
#include <hanzo/text/tokenizer.hpp>
#include <memory>
#include <string>
#include <vector>

#include "tools/common/cli.hpp"
#include "tools/common/console.hpp"

namespace hz::tools {

struct TemplateArgs {
  std::string file, system, tokenizer_file;
  std::vector<std::string> variables;
  CLI::Option *system_given = nullptr, *file_given = nullptr, *variables_given = nullptr;

  explicit TemplateArgs(CLI::App& app);
  // Parsed; null when none is given.
  std::shared_ptr<const text::ChatTemplate> chat_template(const Console& console) const;
  // From a tokenizer.json; null when none is given.
  std::shared_ptr<const text::Tokenizer> tokenizer() const;
  // {"KEY": JSON, …} of all --template-arg, or empty. Throws usage.
  std::string variables_json() const;
};

}  // namespace hz::tools
