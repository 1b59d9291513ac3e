// SPDX-License-Identifier: Apache-2.0
#include "tools/bench/report.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "tools/bench/grid.hpp"
#include "tools/common/meter.hpp"

namespace hz::tools {
namespace {

using nlohmann::json;

std::string dump(const json& j, int indent) { return j.dump(indent, ' ', false, json::error_handler_t::replace); }

std::string test_of(const json& r) {
  std::string s = r["n_prompt"].get<std::int64_t>() > 0 ? fmt::format("pp{}", r["n_prompt"].get<std::int64_t>()) : "";
  if (r["n_gen"].get<std::int64_t>() > 0) s += fmt::format("{}tg{}", s.empty() ? "" : "+", r["n_gen"].get<std::int64_t>());
  if (r["n_depth"].get<std::int64_t>() > 0) s += fmt::format(" @ d{}", r["n_depth"].get<std::int64_t>());
  return s;
}

std::string share(const json& r) {
  if (r.contains("bandwidth_share")) return fmt::format("{:.0f} % of the read bandwidth", 100 * r["bandwidth_share"].get<double>());
  if (r.contains("int8_peak_share")) return fmt::format("{:.0f} % of the int8 peak", 100 * r["int8_peak_share"].get<double>());
  return "";
}

std::string markdown(const json& records) {
  const bool hashed = !records.empty() && records[0].contains("logits_hash");
  std::string s =
      fmt::format("| model | size | params | backend | threads | kv | test | t/s | ttft ms | ms/token p50, p95 | share of the limit |{}\n",
                  hashed ? " logits |" : "");
  s += fmt::format("| --- | ---: | ---: | --- | ---: | --- | ---: | ---: | ---: | ---: | --- |{}\n", hashed ? " --- |" : "");
  for (const json& r : records) {
    const std::string tokens =
        r.contains("token_ms_p50") ? fmt::format("{:.2f}, {:.2f}", r["token_ms_p50"].get<double>(), r["token_ms_p95"].get<double>()) : "";
    s += fmt::format("| {} | {} | {:.2f} M | {} | {} | {} | {} | {:.2f} ± {:.2f} | {:.1f} | {} | {} |{}\n",
                     r["model_type"].get<std::string>(), bytes_text(r["model_size"].get<double>()), r["model_n_params"].get<double>() / 1e6,
                     r["backends"].get<std::string>(), r["n_threads"].get<int>(), r["type_k"].get<std::string>(), test_of(r),
                     r["avg_ts"].get<double>(), r["stddev_ts"].get<double>(), r["ttft_ms"].get<double>(), tokens, share(r),
                     hashed ? fmt::format(" {} |", r["logits_hash"].get<std::string>().substr(0, 16)) : "");
  }
  if (records.empty()) return s;
  const json& last = records.back();
  return s + fmt::format(
                 "\nload {:.2f} s, peak memory {}, {} of weights per token, memory reads {}/s, one core {:.1f} G float and {:.1f} G int8 "
                 "multiply-adds/s\n",
                 last["load_seconds"].get<double>(), bytes_text(last["peak_memory"].get<double>()),
                 bytes_text(last["bytes_per_token"].get<double>()), bytes_text(last["read_bandwidth"].get<double>()),
                 last["fma_peak"].get<double>() / 1e9, last["int8_peak"].get<double>() / 1e9);
}

// Every key that any record has, in order.
std::vector<std::string> columns(const json& records) {
  json all = json::object();
  for (const json& r : records)
    for (const auto& [key, value] : r.items())
      if (!value.is_array()) all[key] = nullptr;
  std::vector<std::string> names;
  for (const auto& [key, value] : all.items()) names.push_back(key);
  return names;
}

std::string quoted(const json& r, const std::string& key, char quote) {
  if (!r.contains(key)) return quote == '"' ? "\"\"" : "NULL";
  std::string text = r[key].is_string() ? r[key].get<std::string>() : dump(r[key], -1);
  for (std::size_t at = 0; (at = text.find(quote, at)) != std::string::npos; at += 2) text.insert(at, 1, quote);
  return quote + text + quote;
}

std::string csv(const json& records) {
  const auto names = columns(records);
  std::string s = fmt::format("{}\n", joined(names, ","));
  for (const json& r : records) {
    std::vector<std::string> cells;
    for (const std::string& n : names) cells.push_back(quoted(r, n, '"'));
    s += fmt::format("{}\n", joined(cells, ","));
  }
  return s;
}

std::string sql(const json& records) {
  const auto names = columns(records);
  std::string s = "CREATE TABLE IF NOT EXISTS hz_bench (\n";
  for (std::size_t i = 0; i < names.size(); ++i) {
    const json& sample = [&]() -> const json& {
      for (const json& r : records)
        if (r.contains(names[i])) return r[names[i]];
      return records;
    }();
    s += fmt::format("  {} {}{}\n", names[i],
                     sample.is_number_integer() || sample.is_boolean() ? "INTEGER"
                     : sample.is_number()                              ? "REAL"
                                                                       : "TEXT",
                     i + 1 < names.size() ? "," : "");
  }
  s += ");\n";
  for (const json& r : records) {
    std::vector<std::string> cells;
    for (const std::string& n : names) cells.push_back(quoted(r, n, '\''));
    s += fmt::format("INSERT INTO hz_bench ({}) VALUES ({});\n", joined(names, ", "), joined(cells, ", "));
  }
  return s;
}

}  // namespace

std::string format_records(const json& records, const std::string& format) {
  if (format == "json") return dump(records, 2) + "\n";
  if (format == "csv") return csv(records);
  if (format == "sql") return sql(records);
  if (format != "jsonl") return markdown(records);
  std::string s;
  for (const json& r : records) s += dump(r, -1) + "\n";
  return s;
}

}  // namespace hz::tools
