// SPDX-License-Identifier: Apache-2.0
// Group loss: reference losses, gradients, optimizers and schedules; one case an entry of a file.
#include "tests/conformance/loss.hpp"

#include <algorithm>
#include <cmath>
#include <fstream>

#include "hanzo/core/error.hpp"

namespace hz::conformance {
namespace {

using nlohmann::json;

struct LossFile {
  std::string_view name;
  void (*check)(const LossCase& c, LossCheck& check);
};
constexpr LossFile kFiles[] = {
    {"basic", &check_basic},
    {"sft", &check_sft},
    {"optim", &check_optim},
    {"schedules", &check_schedule},
    {"lora", &check_lora},
    {"rope", &check_rope},
    {"norms", &check_norms},
    {"attention", &check_attention},
};

std::string case_name(const std::string& file, std::size_t index, const json& c) {
  std::string name = file + "/" + std::to_string(index);
  for (const char* key : {"kind", "name"})
    if (c.contains(key)) name += "-" + c[key].get<std::string>();
  std::replace(name.begin(), name.end(), ' ', '_');
  return name;
}

void flatten(const json& j, std::vector<double>& out) {
  if (!j.is_array()) return out.push_back(j.is_boolean() ? static_cast<double>(j.get<bool>()) : j.get<double>());
  for (const json& e : j) flatten(e, out);
}

void run_file(const std::filesystem::path& path, const LossFile* file, Report& report) {
  const std::string stem = path.stem().string();
  if (file == nullptr) return report.skip(stem, "this file's losses are not built yet");
  std::ifstream in(path);
  const json cases = json::parse(in).at("cases");
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const std::string name = case_name(stem, i, cases[i]);
    if (!report.wants(name)) continue;
    LossCheck check;
    try {
      file->check(cases[i], check);
    } catch (const Error& e) {
      report.fail(name, "a result", e.what());
      continue;
    }
    if (!check.skipped().empty()) report.skip(name, check.skipped());
    else if (check.fault().empty()) report.pass(name);
    else report.fail(name, "the reference's numbers", check.fault());
  }
}

}  // namespace

std::vector<double> numbers(const json& array) {
  std::vector<double> all;
  flatten(array, all);
  return all;
}

Shape shape_of(const json& array) {
  Shape shape;
  for (const json* j = &array; j->is_array(); j = &j->front()) {
    shape.push_back(static_cast<std::int64_t>(j->size()));
    if (j->empty()) break;
  }
  return shape;
}

Tensor tensor_of(const json& array) {
  const auto all = numbers(array);
  const std::vector<float> narrow(all.begin(), all.end());
  return Tensor::from(narrow, shape_of(array));
}

void LossCheck::near(const std::string& what, std::span<const float> got, const json& expected, double tolerance) {
  const auto want = numbers(expected);
  if (!fault_.empty()) return;
  if (want.size() != got.size()) {
    fault_ = what + " has " + std::to_string(got.size()) + " numbers, expected " + std::to_string(want.size());
    return;
  }
  double largest = 0;
  for (const double w : want) largest = std::max(largest, std::fabs(w));
  for (std::size_t i = 0; i < want.size(); ++i)
    if (!(std::fabs(static_cast<double>(got[i]) - want[i]) <= tolerance * largest)) {
      fault_ = what + "[" + std::to_string(i) + "] is " + std::to_string(got[i]) + ", expected " + std::to_string(want[i]);
      return;
    }
}

void LossCheck::near(const std::string& what, double got, double expected, double tolerance) {
  if (fault_.empty() && !(std::fabs(got - expected) <= tolerance * std::fabs(expected)))
    fault_ = what + " is " + std::to_string(got) + ", expected " + std::to_string(expected);
}

void run_loss(const std::filesystem::path& dir, const Options& options, Report& report);

void run_loss(const std::filesystem::path& dir, const Options&, Report& report) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(dir))
    if (entry.path().extension() == ".json" && entry.path().stem() != "manifest") files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  for (const auto& path : files) {
    const auto* found =
        std::find_if(std::begin(kFiles), std::end(kFiles), [&](const LossFile& f) { return f.name == path.stem().string(); });
    run_file(path, found == std::end(kFiles) ? nullptr : found, report);
  }
}

}  // namespace hz::conformance
