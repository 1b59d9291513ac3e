// SPDX-License-Identifier: Apache-2.0
// The runner's own part: which groups of a folder to run, and the account of what happened.
#pragma once
#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tests/conformance/runner.hpp"

namespace hz::conformance {

struct Failure {
  std::string name, expected, got;  // name: group/case
};

class Account : public Report {
 public:
  explicit Account(std::string case_glob) : glob_(std::move(case_glob)) {}

  // The group that the next calls belong to.
  void begin_group(std::string_view group) { group_ = group; }
  bool wants(std::string_view name) const override;
  void pass(std::string_view name) override;
  void fail(std::string_view name, std::string_view expected, std::string_view got) override;
  void skip(std::string_view name, std::string_view reason) override;
  // A group that was not run: one skip whatever --case says.
  void skip_group(std::string_view group, std::string_view reason);

  std::size_t passed() const { return passed_; }
  const std::vector<Failure>& failures() const { return failures_; }
  std::size_t skipped() const { return skipped_; }
  // Cases met, skipped ones and groups included.
  std::size_t matched() const { return passed_ + failures_.size() + skipped_; }
  // The failures in the order met, then the skips by group and reason, then `N passed, N failed, N skipped`.
  // names: how many case names to show for each reason.
  std::string text(std::size_t names) const;

 private:
  std::string glob_, group_;
  std::size_t passed_ = 0, skipped_ = 0;
  std::vector<Failure> failures_;
  std::map<std::pair<std::string, std::string>, std::vector<std::string>> skips_;  // (group, reason) -> names
};

// Runs the groups that have a folder in `dir`; skips folders without a group and groups not built, by name.
// only: the one group to run, or empty. Throws Error(usage) for an unknown `only` and Error(bad_file) when
// `dir` cannot be read. An exception out of a group is a failure of that group, and the others still run.
void run_groups(const std::filesystem::path& dir, std::span<const NamedGroup> groups, std::string_view only,
                const Options& options, Account& account);

}  // namespace hz::conformance
