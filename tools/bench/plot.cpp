// SPDX-License-Identifier: Apache-2.0
#include "tools/bench/plot.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <hanzo/io/atomic_file.hpp>
#include <hanzo/io/line_chart.hpp>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

namespace hz::tools {
namespace {

constexpr const char* kColors[] = {"#1f5fa8", "#c0392b", "#2e8b57", "#8e44ad", "#d68910", "#5d6d7e", "#7aa6d8", "#b9770e"};

void write_chart(io::LineChart chart, std::map<std::string, std::vector<std::pair<double, double>>> lines, const std::string& file) {
  std::size_t n = 0;
  for (auto& [name, points] : lines) {
    std::sort(points.begin(), points.end());
    chart.series.push_back({.name = name, .color = kColors[n++ % std::size(kColors)], .dots = true, .points = std::move(points)});
  }
  io::AtomicFile out(file);
  out.write(chart.svg());
  out.commit();
}

std::string base_name(const std::string& path) { return path.substr(path.rfind('/') + 1); }

}  // namespace

void write_speed_plot(const nlohmann::json& records, const std::string& file) {
  std::set<std::int64_t> depths;
  for (const auto& r : records) depths.insert(r["n_depth"].get<std::int64_t>());
  const bool by_depth = depths.size() > 1;
  std::map<std::string, std::vector<std::pair<double, double>>> lines;
  for (const auto& r : records) {
    const auto prompt = r["n_prompt"].get<std::int64_t>(), generate = r["n_gen"].get<std::int64_t>();
    std::string name = fmt::format("{} t{} {} {}", base_name(r["model_filename"].get<std::string>()), r["n_threads"].get<int>(),
                                   r["type_k"].get<std::string>(), prompt > 0 ? "prompt" : "generation");
    if (by_depth) name += fmt::format(" {}", prompt + generate);
    lines[name].emplace_back(by_depth ? r["n_depth"].get<double>() : static_cast<double>(prompt + generate), r["avg_ts"].get<double>());
  }
  write_chart(
      {.x_label = by_depth ? "tokens in the context; tokens/s upwards" : "tokens; tokens/s upwards", .from_zero = true, .series = {}},
      std::move(lines), file);
}

void write_batch_plot(const nlohmann::json& records, const std::string& file) {
  std::map<std::string, std::vector<std::pair<double, double>>> lines;
  for (const auto& r : records) {
    lines["prompt"].emplace_back(r["pl"].get<double>(), r["speed_pp"].get<double>());
    lines["generation"].emplace_back(r["pl"].get<double>(), r["speed_tg"].get<double>());
  }
  write_chart({.x_label = "sequences; tokens/s upwards", .from_zero = true, .series = {}}, std::move(lines), file);
}

}  // namespace hz::tools
