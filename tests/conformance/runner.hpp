// SPDX-License-Identifier: Apache-2.0
// hz-conformance: what a group of reference cases needs of the runner. One file a group, one line in groups.list.
#pragma once
#include <filesystem>
#include <string>
#include <string_view>

namespace hz::conformance {

struct Options {
  std::string case_glob = "*";  // a glob over case names
  std::string device = "cpu";
};

class Report {
 public:
  virtual ~Report() = default;
  // True when the case is asked for by --case; ask before doing its work.
  virtual bool wants(std::string_view name) const = 0;
  virtual void pass(std::string_view name) = 0;
  virtual void fail(std::string_view name, std::string_view expected, std::string_view got) = 0;
  virtual void skip(std::string_view name, std::string_view reason) = 0;
};

// A group is `void run_<group>(const std::filesystem::path& dir, const Options&, Report&)`; dir is DIR/<group>.
using Group = void (*)(const std::filesystem::path& dir, const Options& options, Report& report);
struct NamedGroup {
  std::string_view name;
  Group run;  // null: not built yet
};

}  // namespace hz::conformance
