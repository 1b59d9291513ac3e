// SPDX-License-Identifier: Apache-2.0
// The main command of hz-quantize: IN OUT TYPE.
#pragma once
#include <CLI/CLI.hpp>
#include <hanzo/model/quantize_file.hpp>
#include <string>
#include <vector>

#include "tools/common/console.hpp"

namespace hz::tools {

struct QuantizeArgs {
  std::string in, out, type, imatrix, output_type, embedding_type, search = "normal";
  std::vector<std::string> tensor_types;  // PATTERN=TYPE
  bool pure = false, strict = false, dry_run = false, keep_split = false, requantize = false, json = false;
  int threads = 0;
  explicit QuantizeArgs(CLI::App& app);
};
int run_quantize(const QuantizeArgs& args, Console& console);

// A recipe by name; throws usage naming the nearest ones.
const model::Recipe& recipe_named(const std::string& name);
// What a quantizing came to, as a table or one JSON object.
void print_summary(const model::QuantizeSummary& s, bool as_json, Console& console);

}  // namespace hz::tools
