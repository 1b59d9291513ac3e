// SPDX-License-Identifier: Apache-2.0
// Where a prompt comes from: -p, -f, --ids, and what is piped in.
#pragma once
#include <cstdint>
#include <hanzo/text/tokenizer.hpp>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "tools/common/cli.hpp"
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
constexpr std::uint64_t kMostText = std::uint64_t{1} << 30;  // bytes of a prompt or a text
constexpr std::uint64_t kMostDefinition = std::uint64_t{16} << 20;  // of a grammar, a schema, a template; their parsers take less
// The bytes of a file, a FIFO or a terminal, at most `most`. Throws bad_file or io.
std::string read_text_file(const std::string& name, const Console& console, std::uint64_t most = kMostText);
// A text to measure or calibrate on as tokens: framed by the tokenizer, without control tokens. Throws cancelled at a stop.
std::vector<std::int32_t> tokens_of_text(const text::Tokenizer& tokenizer, std::string_view text, const std::stop_token& stop);
// "1,2,3" (commas or blanks), or the name of a file that holds such a list.
std::vector<std::int32_t> parse_ids(const std::string& text, const Console& console);
// Throws usage naming the source and the place of the first bytes that are not UTF-8.
void check_utf8(std::string_view text, const std::string& source);

}  // namespace hz::tools
