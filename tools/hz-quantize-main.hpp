// SPDX-License-Identifier: Apache-2.0
// The main command of hz-quantize: IN OUT TYPE.
#pragma once
#include <hanzo/model/quantize_file.hpp>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tools/common/cli.hpp"
#include "tools/common/console.hpp"

namespace hz::tools {

// How tensors are encoded: the options that quantizing a file and converting a folder share.
struct EncodeArgs {
  std::string imatrix, output_type, embedding_type, search = "normal";
  std::vector<std::string> tensor_types;  // PATTERN=TYPE
  bool pure = false, strict = false;
  int threads = 0;
  explicit EncodeArgs(CLI::App& app);
  // Reads the importance matrix, if one is named, into `importance`, which the result points to.
  model::QuantizeFileOptions options(const model::Recipe& recipe, model::Importance& importance) const;
  // The first of these options that was given, or "".
  std::string given() const;

 private:
  const CLI::App* app_;
};

struct QuantizeArgs {
  std::string in, out, type;
  EncodeArgs encode;
  bool dry_run = false, keep_split = false, requantize = false, json = false;
  explicit QuantizeArgs(CLI::App& app);
};
int run_quantize(QuantizeArgs args, Console& console);

// A recipe by name; throws usage naming the nearest ones.
const model::Recipe& recipe_named(const std::string& name);
// What a quantizing came to, as one JSON object or a table; what the user should know of it as warnings.
nlohmann::json summary_json(const model::QuantizeSummary& s);
void print_summary(const model::QuantizeSummary& s, Console& console);
void warn_about(const model::QuantizeSummary& s, Console& console);

}  // namespace hz::tools
