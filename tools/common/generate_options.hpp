// SPDX-License-Identifier: Apache-2.0
// The options by which a tool says how tokens are chosen and where a text ends.
#pragma once
#include <cstdint>
#include <hanzo/engine/generator.hpp>
#include <string>
#include <vector>

#include "tools/common/cli.hpp"
#include "tools/common/console.hpp"

namespace hz::tools {

struct GenerateArgs {
  explicit GenerateArgs(CLI::App& app);
  // Checked as far as it can be without a model; reads grammar and schema files. Throws usage, bad_file, unsupported.
  GenerateOptions build(const Console& console) const;

  std::int64_t max_tokens = -1;
  std::int32_t logprobs = 0;
  SamplingOptions sampling;
  std::uint64_t seed = 0;
  std::vector<std::string> biases, breakers, stops;
  std::string grammar, schema;
  CLI::Option *seed_given = nullptr, *logprobs_given = nullptr, *grammar_given = nullptr, *schema_given = nullptr;

 private:
  void add_sampling(CLI::App& app);
  void add_penalties(CLI::App& app);
  void add_text(CLI::App& app);
};

// "ID+BIAS", "ID-BIAS" or "ID=BIAS"; -inf bans the token. Throws usage.
TokenBias parse_bias(const std::string& text);

}  // namespace hz::tools
