// SPDX-License-Identifier: Apache-2.0
// Records of measurements as text: md, csv, json, jsonl, sql.
#pragma once
#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "tools/common/cli.hpp"
#include "tools/common/console.hpp"

namespace hz::tools {

// A column of the md table.
struct Column {
  std::string title;
  bool right = true;  // aligned
  std::function<std::string(const nlohmann::json&)> text;
};
// A number of the record under `key`, with so many digits behind the point.
Column number_column(const std::string& title, const std::string& key, int digits);
// How records of one kind are shown: the SQL table's name, the md table's columns and what is said below it. The other
// formats have every key.
struct Layout {
  std::string table;
  std::vector<Column> columns;
  std::string below;
};
// -o and --oe, and --plot, a file that is tried at once: measuring takes long.
struct ReportArgs {
  std::string output = "md", second_output, plot;
  void add_to(CLI::App& app, const std::string& plot_help);
  // Throws Error(io) when no picture can be written there.
  void check() const;
};
std::string format_records(const nlohmann::json& records, const std::string& format, const Layout& layout);
// To stdout, and in the second format to stderr.
void print_records(const nlohmann::json& records, const ReportArgs& args, const Layout& layout, Console& console);

// "pp512", "tg128 @ d4096", "pp512+tg128"
std::string test_name(std::int64_t prompt, std::int64_t generate, std::int64_t depth);
std::string test_name(const nlohmann::json& record);  // of its n_prompt, n_gen, n_depth
Layout speed_layout(const nlohmann::json& records);

}  // namespace hz::tools
