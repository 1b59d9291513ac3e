// SPDX-License-Identifier: Apache-2.0
// Lists of values as llama-bench takes them: 1,2,8 and ranges 1-9+2 (steps added) or 1-64*2 (multiplied).
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "tools/common/cli.hpp"

namespace hz::tools {

// Throws Error(usage) naming `flag` for anything that is no list of integers in [least, most]; at most 1000 values.
std::vector<std::int64_t> parse_grid(const std::string& flag, const std::string& text, std::int64_t least, std::int64_t most);
// A flag that takes such a list; given several times, the lists follow one another.
void add_list(CLI::App& app, const std::string& names, std::string& text, const std::string& help);
// Words separated by commas, each one of `known`.
std::vector<std::string> parse_words(const std::string& flag, const std::string& text, const std::vector<std::string>& known);
// The words with a separator between them.
std::string joined(const std::vector<std::string>& words, const std::string& separator);
// "512,128" pairs separated by ';' or given several times: prompt and generated tokens measured as one.
struct PromptGen {
  std::int64_t prompt = 0, generate = 0;
};
std::vector<PromptGen> parse_pairs(const std::string& flag, const std::vector<std::string>& texts);

}  // namespace hz::tools
