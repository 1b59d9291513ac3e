// SPDX-License-Identifier: Apache-2.0
// hz-quantize's other commands: imatrix, convert, merge, split, info, types.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "tools/common/cli.hpp"
#include "tools/common/console.hpp"
#include "tools/common/model_options.hpp"
#include "tools/hz-quantize-main.hpp"

namespace hz::tools {

struct ImatrixArgs {
  ModelArgs model;
  std::vector<std::string> texts, merge;
  std::string out;
  std::int64_t window = 512, chunks = -1;
  bool json = false;
  explicit ImatrixArgs(CLI::App& app);
};
int run_imatrix(ImatrixArgs args, Console& console);

struct ConvertArgs {
  std::string folder, out, type;
  EncodeArgs encode;
  bool json = false;
  explicit ConvertArgs(CLI::App& app);
};
int run_convert(const ConvertArgs& args, Console& console);

struct MergeArgs {
  std::string first, out;
  bool json = false;
  explicit MergeArgs(CLI::App& app);
};
int run_merge(const MergeArgs& args, Console& console);

struct SplitArgs {
  std::string in, stem, max_size;
  std::uint64_t max_tensors = 0;
  bool metadata_first = false, json = false;
  explicit SplitArgs(CLI::App& app);
};
int run_split(const SplitArgs& args, Console& console);

struct InfoArgs {
  std::string file;
  bool json = false;
  explicit InfoArgs(CLI::App& app);
};
int run_info(const InfoArgs& args, Console& console);

int list_types(bool json, Console& console);

}  // namespace hz::tools
