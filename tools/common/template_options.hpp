// SPDX-License-Identifier: Apache-2.0
// The options about the chat template.
#pragma once
#include <CLI/CLI.hpp>
#include <hanzo/text/chat_template.hpp>
#include <memory>
#include <string>
#include <vector>

#include "tools/common/console.hpp"

namespace hz::tools {

struct TemplateArgs {
  std::string file, system;
  std::vector<std::string> variables;
  CLI::Option* system_given = nullptr;

  explicit TemplateArgs(CLI::App& app);
  // Parsed; null when none is given.
  std::shared_ptr<const text::ChatTemplate> chat_template(const Console& console) const;
  // {"KEY": JSON, …} of all --template-arg, or empty. Throws usage.
  std::string variables_json() const;
};

}  // namespace hz::tools
