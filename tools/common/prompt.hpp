// SPDX-License-Identifier: Apache-2.0
// Where a prompt comes from: -p, -f, --ids, and what is piped in.
#pragma once
#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tools/common/console.hpp"

namespace hz::tools {

struct PromptArgs {
  std::string text, file, ids;
  CLI::Option *text_given = nullptr, *file_given = nullptr, *ids_given = nullptr;
  explicit PromptArgs(CLI::App& app);
};

// The prompt: -p or -f, then what a pipe holds; a pipe alone is the prompt. Throws usage when there is none.
std::string read_prompt(const PromptArgs& args, Console& console);
// As above, but none is no error.
std::optional<std::string> read_prompt_if_any(const PromptArgs& args, Console& console);
// The bytes of a file. Throws bad_file or io.
std::string read_text_file(const std::string& name, const Console& console);
// "1,2,3" (commas or blanks), or the name of a file that holds such a list.
std::vector<std::int32_t> parse_ids(const std::string& text, const Console& console);
// Throws usage naming the source and the place of the first bytes that are not UTF-8.
void check_utf8(std::string_view text, const std::string& source);

}  // namespace hz::tools
