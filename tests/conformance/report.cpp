// SPDX-License-Identifier: Apache-2.0
// The runner's own part: which groups of a folder to run, and the account of what happened.
#include "tests/conformance/report.hpp"

#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>
#include <set>
#include <system_error>

#include "hanzo/core/error.hpp"

namespace hz::conformance {
namespace {

// Long texts are cut in the middle of a report, not in the data.
std::string shortened(std::string_view s) {
  constexpr std::size_t kMost = 2000;
  if (s.size() <= kMost) return std::string(s);
  return fmt::format("{} ... ({} bytes)", s.substr(0, kMost), s.size());
}

std::set<std::string> folders_in(const std::filesystem::path& dir) {
  std::error_code error;
  std::set<std::string> names;
  std::filesystem::directory_iterator it(dir, error);
  for (; !error && it != std::filesystem::directory_iterator(); it.increment(error))
    if (it->is_directory()) names.insert(it->path().filename().string());
  if (error)
    throw Error(ErrorKind::bad_file, "the folder of reference data cannot be read: " + error.message(), dir.string(),
                "give a folder with quant/, tokenizer/, arch/ and so on in it");
  return names;
}

std::string names_of(std::span<const NamedGroup> groups) {
  std::string s;
  for (const NamedGroup& g : groups) s += (s.empty() ? "" : ", ") + std::string(g.name);
  return s;
}

void run_group(const NamedGroup& group, const std::filesystem::path& dir, const Options& options, Account& account) {
  account.begin_group(group.name);
  try {
    group.run(dir, options, account);
  } catch (const Error& e) {
    account.fail("(whole group)", "to run to its end",
                 e.where().empty() ? std::string(e.what()) : fmt::format("{} ({})", e.what(), e.where()));
  } catch (const std::exception& e) {
    account.fail("(whole group)", "to run to its end", e.what());
  }
}

}  // namespace

bool Account::wants(std::string_view name) const {
  const std::string full = fmt::format("{}/{}", group_, name);
  const auto matches = [&](std::string_view part) { return ::fnmatch(glob_.c_str(), std::string(part).c_str(), 0) == 0; };
  // "llama" means all of "llama/0", "llama/1", ...
  for (std::size_t at = full.find('/', group_.size() + 1);; at = full.find('/', at + 1)) {
    const std::string_view part = std::string_view(full).substr(0, at);
    if (matches(part) || matches(part.substr(group_.size() + 1))) return true;
    if (at == std::string::npos) return false;
  }
}

void Account::pass(std::string_view name) {
  if (wants(name)) ++passed_;
}

void Account::fail(std::string_view name, std::string_view expected, std::string_view got) {
  failures_.push_back({fmt::format("{}/{}", group_, name), shortened(expected), shortened(got)});
}

void Account::skip(std::string_view name, std::string_view reason) {
  if (!wants(name)) return;
  ++skipped_;
  skips_[{group_, std::string(reason)}].emplace_back(name);
}

void Account::skip_group(std::string_view group, std::string_view reason) {
  ++skipped_;
  skips_[{std::string(group), std::string(reason)}];
}

std::string Account::text(std::size_t names) const {
  std::string s;
  for (const Failure& f : failures_) s += fmt::format("FAIL {}\n  expected: {}\n  got:      {}\n", f.name, f.expected, f.got);
  if (!skips_.empty()) s += "skipped:\n";
  for (const auto& [key, cases] : skips_) {
    const auto& [group, reason] = key;
    if (cases.empty()) {
      s += fmt::format("  {}: {}\n", group, reason);
      continue;
    }
    s += fmt::format("  {}: {} x {}:", group, cases.size(), reason);
    for (std::size_t i = 0; i < std::min(names, cases.size()); ++i) s += " " + cases[i];
    s += cases.size() > names ? " ...\n" : "\n";
  }
  return s + fmt::format("{} passed, {} failed, {} skipped\n", passed_, failures_.size(), skipped_);
}

void run_groups(const std::filesystem::path& dir, std::span<const NamedGroup> groups, std::string_view only,
                const Options& options, Account& account) {
  std::set<std::string> folders = folders_in(dir);
  const bool known = std::any_of(groups.begin(), groups.end(), [&](const NamedGroup& g) { return g.name == only; });
  if (!only.empty() && !known)
    throw Error(ErrorKind::usage, fmt::format("there is no group '{}'", only), "--only", "one of " + names_of(groups));
  for (const NamedGroup& g : groups) {
    if (!only.empty() && g.name != only) continue;
    if (folders.erase(std::string(g.name)) == 0) account.skip_group(g.name, "no such folder in the reference data");
    else if (g.run == nullptr) account.skip_group(g.name, "the group is not built yet");
    else run_group(g, dir / g.name, options, account);
  }
  if (!only.empty()) return;
  for (const std::string& name : folders) {
    const bool group = std::any_of(groups.begin(), groups.end(), [&](const NamedGroup& g) { return g.name == name; });
    if (!group) account.skip_group(name, "no group of this name is known");
  }
}

}  // namespace hz::conformance
